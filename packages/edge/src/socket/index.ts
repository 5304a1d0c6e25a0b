export { ByteBudget } from "./byte-budget.ts";
export { ConnectError, type ConnectFailure, connectUnix } from "./connect-unix.ts";
export { type Listening, type ListenOptions, listenUnix, MAX_SOCKET_PATH, type UnixServer } from "./listen-unix.ts";
export { type Answer, type Exchange, ExchangeError, type ExchangeFailure, requestFinal, requestReply } from "./request-reply.ts";
export { type ConnectionHandler, type Delivery, type Reply, type RequestFault, serveConnection } from "./serve-connection.ts";
