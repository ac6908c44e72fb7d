import { connect } from "node:net";
import type { Socket } from "node:net";
import { once } from "node:events";

/** Frame types and flags of HTTP/2 (RFC 9113, section 6). */
const DATA = 0x0;
const HEADERS = 0x1;
const RST_STREAM = 0x3;
const SETTINGS = 0x4;
const PING = 0x6;
const GOAWAY = 0x7;
const WINDOW_UPDATE = 0x8;
const END_STREAM = 0x1;
const ACK = 0x1;
const END_HEADERS = 0x4;

export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");
const FRAME_HEADER_BYTES = 9;
/** Of SETTINGS: how many calls may be open at once. */
const MAX_CONCURRENT_STREAMS = 0x3;
const SETTING_BYTES = 6;
/** A message's own header in gRPC: whether it is compressed, and its length. */
const MESSAGE_HEADER_BYTES = 5;
const FIRST_WINDOW_BYTES = 65_535;
const LARGEST_WINDOW_BYTES = 2 ** 31 - 1;
/** Calls whose answers may be outstanding at once. */
const MAX_OPEN_CALLS = 1 << 16;

/** Hears of the end of each call: how long it took, or that it failed. */
export type OnAnswer = (latencyMs: number, failed: boolean) => void;

/**
 * Makes unary gRPC calls of one method over one connection, with so little work of its own that what it measures is the
 * server: hardly an object is made per call, where the usual client's collections of garbage last longer than most answers. A
 * call that ends without a message has failed.
 */
export class Caller {
  private readonly socket: Socket;
  private readonly headers: Buffer;
  private readonly onAnswer: OnAnswer;
  private readonly sentMs = new Float64Array(MAX_OPEN_CALLS);
  private readonly hasMessage = new Uint8Array(MAX_OPEN_CALLS);
  private readonly unsent: { readonly stream: number; readonly message: Buffer }[] = [];
  /** Calls that wait until fewer are open, and since when. */
  private readonly waiting: { readonly sinceMs: number; readonly message: Buffer }[] = [];
  private openCalls = 0;
  private mostOpenCalls = Number.POSITIVE_INFINITY;
  private nextStream = 1;
  private windowBytes = FIRST_WINDOW_BYTES;
  private unread: Buffer = Buffer.alloc(0);
  private closing = false;

  private constructor(socket: Socket, authority: string, path: string, onAnswer: OnAnswer) {
    this.socket = socket;
    this.headers = headerBlock(authority, path);
    this.onAnswer = onAnswer;
    socket.setNoDelay();
    socket.on("data", (bytes: Buffer) => this.read(bytes));
    socket.on("close", () => {
      if (!this.closing) throw new Error("the server closed the connection");
    });
    const window = Buffer.alloc(4);
    window.writeUInt32BE(LARGEST_WINDOW_BYTES - FIRST_WINDOW_BYTES);
    socket.write(Buffer.concat([PREFACE, frame(SETTINGS, 0, 0), frame(WINDOW_UPDATE, 0, 0, window)]));
  }

  /** @param to where to, and the caller's own address; undefined for any */
  static async connect(
    { address, localAddress }: { readonly address: string; readonly localAddress: string | undefined },
    path: string,
    onAnswer: OnAnswer,
  ): Promise<Caller> {
    const { hostname, port } = new URL(`http://${address}`);
    const socket = connect({ port: Number(port), host: hostname, ...(localAddress && { localAddress }) });
    await once(socket, "connect");
    return new Caller(socket, address, path, onAnswer);
  }

  /**
   * Makes a call with this message, see {@link messageOf}. Its time begins now, also when it has to wait for its turn among the calls
   * that the server allows at once, or for the server to take what was sent before.
   */
  call(message: Buffer): void {
    this.waiting.push({ sinceMs: performance.now(), message });
    this.beginCalls();
  }

  close(): void {
    this.closing = true;
    this.socket.destroy();
  }

  private beginCalls(): void {
    while (this.openCalls < this.mostOpenCalls) {
      const next = this.waiting.shift();
      if (next === undefined) return;
      this.begin(next.message, next.sinceMs);
    }
  }

  private begin(message: Buffer, sinceMs: number): void {
    this.openCalls += 1;
    const stream = this.nextStream;
    this.nextStream += 2;
    this.hasMessage[slotOf(stream)] = 0;
    this.sentMs[slotOf(stream)] = sinceMs;
    this.socket.cork();
    this.socket.write(frameHeader(HEADERS, END_HEADERS, stream, this.headers.length));
    this.socket.write(this.headers);
    this.unsent.push({ stream, message });
    this.sendMessages();
    this.socket.uncork();
  }

  /** Sends the messages that the connection's window has room for, oldest first. */
  private sendMessages(): void {
    for (let next = this.unsent[0]; next !== undefined; next = this.unsent[0]) {
      const { stream, message } = next;
      if (message.length > this.windowBytes) return;
      this.unsent.shift();
      this.windowBytes -= message.length;
      this.socket.write(frameHeader(DATA, END_STREAM, stream, message.length));
      this.socket.write(message);
    }
  }

  private read(bytes: Buffer): void {
    const input = this.unread.length === 0 ? bytes : Buffer.concat([this.unread, bytes]);
    let at = 0;
    while (input.length - at >= FRAME_HEADER_BYTES) {
      const end = at + FRAME_HEADER_BYTES + input.readUIntBE(at, 3);
      if (input.length < end) break;
      const payload = input.subarray(at + FRAME_HEADER_BYTES, end);
      this.take(input[at + 3] ?? 0, input[at + 4] ?? 0, input.readUInt32BE(at + 5), payload);
      at = end;
    }
    this.unread = input.subarray(at);
  }

  private take(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === SETTINGS && (flags & ACK) === 0) this.obey(payload);
    if (type === PING && (flags & ACK) === 0) this.socket.write(frame(PING, ACK, 0, payload));
    if (type === WINDOW_UPDATE && stream === 0) {
      this.windowBytes += payload.readUInt32BE(0);
      this.sendMessages();
    }
    if (type === GOAWAY) throw new Error(`the server says GOAWAY: ${payload.toString("latin1", 8)}`);
    if (type === DATA) this.hasMessage[slotOf(stream)] = 1;
    if (type === RST_STREAM) this.end(Number.NaN, true);
    if ((type === HEADERS || type === DATA) && (flags & END_STREAM) !== 0) {
      const slot = slotOf(stream);
      this.end(performance.now() - (this.sentMs[slot] ?? Number.NaN), this.hasMessage[slot] === 0);
    }
  }

  private end(latencyMs: number, failed: boolean): void {
    this.openCalls -= 1;
    this.onAnswer(latencyMs, failed);
    this.beginCalls();
  }

  private obey(settings: Buffer): void {
    for (let at = 0; at + SETTING_BYTES <= settings.length; at += SETTING_BYTES) {
      if (settings.readUInt16BE(at) === MAX_CONCURRENT_STREAMS)
        this.mostOpenCalls = settings.readUInt32BE(at + 2);
    }
    this.socket.write(frame(SETTINGS, ACK, 0));
  }
}

/** A message as it goes into a DATA frame. */
export function messageOf(bytes: Uint8Array): Buffer {
  const message = Buffer.alloc(MESSAGE_HEADER_BYTES + bytes.length);
  message.writeUInt32BE(bytes.length, 1);
  message.set(bytes, MESSAGE_HEADER_BYTES);
  return message;
}

const slotOf = (stream: number): number => (stream >> 1) % MAX_OPEN_CALLS;

function frameHeader(type: number, flags: number, stream: number, length: number): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  header.writeUIntBE(length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(stream, 5);
  return header;
}

export const frame = (
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer => Buffer.concat([frameHeader(type, flags, stream, payload.length), payload]);

/** The same headers for every call, in HPACK without indexing (RFC 7541, sections 6.1 and 6.2.2). */
export function headerBlock(authority: string, path: string): Buffer {
  const text = (value: string): Buffer =>
    Buffer.concat([Buffer.of(value.length), Buffer.from(value, "latin1")]);
  return Buffer.concat([
    Buffer.of(0x83, 0x86),
    Buffer.of(0x04),
    text(path),
    Buffer.of(0x01),
    text(authority),
    Buffer.of(0x0f, 0x10),
    text("application/grpc"),
    Buffer.of(0x00),
    text("te"),
    text("trailers"),
  ]);
}
