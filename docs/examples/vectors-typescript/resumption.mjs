// The cursor parser and the decision on a resumption, as chapters 4, 8 and 12 of the standard have them.

/** @typedef {{presence: "absent" | "malformed"} | {presence: "present", tag: string, stream: number, seq: number}} Cursor */
/** @typedef {{number: number, first: number, last: number}} Stream */
/** @typedef {{seq: number, stream: number, prev: number}} Event */
/** @typedef {{tag: string, principal: string, streams: Stream[], held: Event[]}} Session */

const EVENT_ID = /^([A-Za-z0-9_-]{22,32})\.([1-9][0-9]{0,15})\.([1-9][0-9]{0,15})$/;

/**
 * What the Last-Event-ID headers of a request say.
 * @param {string[]} headers
 * @returns {Cursor}
 */
export function parseCursor(headers) {
  if (headers.length === 0) return { presence: "absent" };
  const match = headers.length === 1 ? EVENT_ID.exec(headers[0]) : null;
  if (!match) return { presence: "malformed" };
  const [stream, seq] = [Number(match[2]), Number(match[3])];
  if (stream > Number.MAX_SAFE_INTEGER || seq > Number.MAX_SAFE_INTEGER) return { presence: "malformed" };
  return { presence: "present", tag: match[1], stream, seq };
}

/**
 * The answer to a request for a view: steps 0 to 10, in their order.
 * @param {{refusal_status: number, deployment: {mode: string, stateless: boolean}, sessions: Record<string, Session>,
 *   request: {origin_allowed: boolean, credential: string, version_supported: boolean, session: string | null,
 *   principal: string, last_event_id: string[]}}} asked
 */
export function decide({ refusal_status, deployment, sessions, request }) {
  if (!request.origin_allowed) return refuse("origin-forbidden", 403);
  if (request.credential === "missing") return refuse("unauthenticated", 401);
  if (request.credential === "forbidden") return refuse("forbidden", 403);
  if (!request.version_supported) return refuse("version-unsupported", 400);
  const cursor = parseCursor(request.last_event_id);
  const id = request.session ?? bearer(deployment, sessions, cursor);
  if (id === undefined) return refuse("session-missing", 400);
  const session = Object.hasOwn(sessions, id) ? sessions[id] : undefined;
  if (session === undefined || session.principal !== request.principal) return refuse("session-unknown", 404);
  if (cursor.presence === "absent") return { decision: "fresh", status: 200 };
  if (cursor.presence === "malformed") return refuse("cursor-malformed", 400);
  if (cursor.tag !== session.tag) return refuse("cursor-foreign", refusal_status);
  const stream = session.streams.find((each) => each.number === cursor.stream);
  if (stream === undefined || deployment.mode === "refuse") return refuse("cursor-out-of-window", refusal_status);
  const held = session.held.filter((event) => event.stream === stream.number);
  const mark = held.length > 0 ? held[0].prev : stream.last;
  if (deployment.mode === "replay") {
    if (mark !== stream.first) return refuse("cursor-out-of-window", refusal_status);
    return { decision: "replay", status: 200, stream: stream.number, position: mark };
  }
  const range = { stream: stream.number, mark, last: stream.last };
  if (cursor.seq > stream.last) return refuse("cursor-ahead", refusal_status, range);
  if (cursor.seq < mark) return refuse("cursor-out-of-window", refusal_status, range);
  if (cursor.seq !== mark && !held.some((event) => event.seq === cursor.seq)) {
    return refuse("cursor-mismatch", refusal_status, range);
  }
  return { decision: "re-attach", status: 200, stream: stream.number, position: cursor.seq };
}

/** The id of the session whose tag a cursor has: all that a stateless client has to name it by. */
function bearer(deployment, sessions, cursor) {
  if (!deployment.stateless || deployment.mode !== "replay" || cursor.presence !== "present") return undefined;
  return Object.keys(sessions).find((id) => sessions[id].tag === cursor.tag);
}

function refuse(reason, status, held) {
  return { decision: "refuse", reason, status, ...(held && { held }) };
}
