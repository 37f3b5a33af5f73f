/** A reply with bulk strings as Buffers. */
export type Reply = Buffer | number | string | null | Reply[];

/** Where Redis is. Exactly one way to reach it. */
export type RedisTarget =
  | { readonly kind: "single"; readonly url: string }
  | { readonly kind: "socket"; readonly path: string }
  | {
      readonly kind: "sentinel";
      readonly name: string;
      readonly nodes: readonly { readonly host: string; readonly port: number }[];
      readonly username?: string;
      readonly password?: string;
    }
  | {
      readonly kind: "cluster";
      readonly nodes: readonly { readonly host: string; readonly port: number }[];
      readonly username?: string;
      readonly password?: string;
      readonly tls?: boolean;
    };

export type ChannelListener = (payload: Buffer) => void;

export interface RunOptions {
  /** Answer only once the configured number of replicas holds the write (see {@link ConnectOptions.replicas}). */
  readonly durable?: boolean;
}

/** What the store needs of Redis: routed commands and sharded channels. */
export interface RedisConnection {
  /** Runs a command on the node that owns `key`. Auto-pipelined with others of the same tick. */
  run(key: string, args: readonly (string | Buffer)[], options?: RunOptions): Promise<Reply>;
  subscribe(channel: string, listener: ChannelListener): Promise<void>;
  unsubscribe(channel: string, listener: ChannelListener): Promise<void>;
  /** Called after each reconnect of the subscriber, when messages may have been missed. */
  onSubscriberReconnect(callback: () => void): void;
  close(): Promise<void>;
}
