// supergateway listens on every interface and has no option for it: here it listens on the loopback one.
const { Server } = require("node:net");

const { listen } = Server.prototype;
Server.prototype.listen = function (port, ...others) {
  return typeof port === "number" ? listen.call(this, port, "127.0.0.1", ...others) : listen.call(this, port, ...others);
};
