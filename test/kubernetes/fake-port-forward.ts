import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";

/** Fixed by RFC 6455, section 1.3. */
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const PROTOCOL = "v4.channel.k8s.io";
const BINARY = 2;
const CLOSE = 8;

/** One frame from a server, which does not mask. */
function frame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = 0x80 | opcode;
  if (length < 126) head[1] = length;
  else if (length < 65_536) {
    head[1] = 126;
    head.writeUInt16BE(length, 2);
  } else {
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  return Buffer.concat([head, payload]);
}

/** Whole frames of a client out of what has arrived, and the rest. */
function framesOf(bytes: Buffer): { frames: { opcode: number; payload: Buffer }[]; rest: Buffer } {
  const frames: { opcode: number; payload: Buffer }[] = [];
  let at = 0;
  while (bytes.length - at >= 6) {
    const short = bytes[at + 1]! & 0x7f;
    const wide = short === 126 ? 2 : short === 127 ? 8 : 0;
    if (bytes.length - at < 6 + wide) break;
    const length =
      wide === 0 ? short : wide === 2 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
    const begin = at + 6 + wide;
    if (bytes.length < begin + length) break;
    const mask = bytes.subarray(begin - 4, begin);
    const payload = Buffer.from(bytes.subarray(begin, begin + length).map((byte, i) => byte ^ mask[i % 4]!));
    frames.push({ opcode: bytes[at]! & 0x0f, payload });
    at = begin + length;
  }
  return { frames, rest: bytes.subarray(at) };
}

/** Two bytes of the port begin each channel: 0 carries data, 1 errors. */
const channelFrame = (channel: number, payload: Buffer): Buffer =>
  frame(BINARY, Buffer.concat([Buffer.from([channel]), payload]));

/**
 * Serves `pods/portforward` over a web socket as API server and kubelet do, into a port of this machine.
 * @param podPort as the client asked for it
 * @param localPort where it leads; undefined where nothing listens in the pod
 */
export function serveTunnel(
  request: IncomingMessage,
  client: Duplex,
  podPort: number,
  localPort: number | undefined,
): void {
  const accept = createHash("sha1").update(`${request.headers["sec-websocket-key"]}${GUID}`).digest("base64");
  client.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: ${PROTOCOL}\r\n\r\n`,
  );
  const port = Buffer.alloc(2);
  port.writeUInt16LE(podPort);
  for (const channel of [0, 1]) client.write(channelFrame(channel, port));
  if (localPort === undefined) {
    client.end(channelFrame(1, Buffer.from("connection refused in the network of the pod")));
    return;
  }
  const target = connect(localPort, "127.0.0.1");
  let held = Buffer.alloc(0);
  client.on("data", (data: Buffer) => {
    const { frames, rest } = framesOf(Buffer.concat([held, data]));
    held = Buffer.from(rest);
    for (const { opcode, payload } of frames) {
      if (opcode === CLOSE) client.end(frame(CLOSE, payload));
      else if (payload[0] === 0) target.write(payload.subarray(1));
    }
  });
  target.on("data", (data: Buffer) => client.write(channelFrame(0, data)));
  target.on("close", () => client.end(frame(CLOSE, Buffer.from([0x03, 0xe8]))));
  target.on("error", () => client.destroy());
  client.on("close", () => target.destroy());
  client.on("error", () => target.destroy());
}
