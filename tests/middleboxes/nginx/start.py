"""Start nginx in front of a server, in the foreground, with nothing of the machine's own configuration.

python start.py --folder FOLDER --port 8001 --upstream http://127.0.0.1:8000/mcp [--set 'DIRECTIVE;'...]

Without ``--set`` it is a location with ``proxy_pass`` alone: whatever else there is, is nginx's default.
"""

import argparse
import os
from pathlib import Path
from urllib.parse import urlsplit

CONFIGURATION = """\
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://{upstream};
            {directives}
        }}
    }}
}}
"""

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where its files go")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--upstream", required=True)
    parser.add_argument("--set", action="append", default=[], metavar="DIRECTIVE")
    given = parser.parse_args()
    folder = given.folder.absolute() / str(given.port)
    folder.mkdir(parents=True, exist_ok=True)
    configuration = folder / "nginx.conf"
    configuration.write_text(
        CONFIGURATION.format(
            folder=folder,
            port=given.port,
            upstream=urlsplit(given.upstream).netloc,
            directives="\n            ".join(given.set),
        ),
        encoding="utf-8",
    )
    os.execvp("nginx", ["nginx", "-c", str(configuration), "-p", str(folder), "-e", "stderr"])
