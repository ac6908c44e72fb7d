import { Client, credentials, Metadata } from "@grpc/grpc-js";
import type { ChannelCredentials, ClientOptions, ClientReadableStream, ServiceError } from "@grpc/grpc-js";
import { decodeIsActive, decodeMetrics, encodeMetricsRequest, encodeRef } from "./wire.ts";
import type { Bytes, Ref, WireMetric } from "./wire.ts";

const PATH = "/externalscaler.ExternalScaler/";
const asIs = (bytes: Bytes): Bytes => bytes;

/** Calls an external scaler knowing nothing but the contract. A failed call rejects with a gRPC ServiceError. */
export class WireClient {
  readonly #client: Client;
  readonly #deadlineMs: number;

  constructor(
    address: string,
    channel: ChannelCredentials = credentials.createInsecure(),
    options: ClientOptions = {},
    deadlineMs = 5_000,
  ) {
    this.#client = new Client(address, channel, options);
    this.#deadlineMs = deadlineMs;
  }

  call(rpc: string, request: Bytes, deadlineMs = this.#deadlineMs): Promise<Bytes> {
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        PATH + rpc,
        asIs,
        asIs,
        request,
        new Metadata(),
        { deadline: Date.now() + deadlineMs },
        (error, response) => (error === null ? resolve(response!) : reject(error)),
      );
    });
  }

  async metricSpec(ref: Ref): Promise<WireMetric[]> {
    return decodeMetrics(await this.call("GetMetricSpec", encodeRef(ref)));
  }

  async metrics(ref: Ref, metricName: string): Promise<WireMetric[]> {
    return decodeMetrics(await this.call("GetMetrics", encodeMetricsRequest(ref, metricName)));
  }

  async isActive(ref: Ref): Promise<boolean> {
    return decodeIsActive(await this.call("IsActive", encodeRef(ref)));
  }

  stream(rpc: "StreamIsActive" | "StreamMetricSpec", ref: Ref): ClientReadableStream<Bytes> {
    return this.#client.makeServerStreamRequest(PATH + rpc, asIs, asIs, encodeRef(ref));
  }

  close(): void {
    this.#client.close();
  }
}

/** The gRPC status of a call that is expected to fail. */
export async function failure(call: Promise<unknown>): Promise<Pick<ServiceError, "code" | "details">> {
  try {
    await call;
  } catch (error) {
    const { code, details } = error as ServiceError;
    return { code, details };
  }
  throw new Error("the call was answered, though it should have failed");
}
