import { setTimeout as sleep } from "node:timers/promises";
import { createClient, RESP_TYPES } from "redis";
import type { ChannelListener, RedisConnection, RedisTarget, Reply } from "./connection.ts";
import { Patience } from "./patience.ts";
import { storeFault } from "./redis-faults.ts";
import { Silence } from "./silence.ts";

export interface SingleOptions {
  /** How long a command waits for a connection that it can be sent on, in milliseconds. */
  readonly patienceMs: number;
  /** How long a server may answer nothing at all while it is asked, in milliseconds. */
  readonly stallMs: number;
  onError(error: unknown): void;
}

// RESP 2: replies are arrays, as the scripts see them, whatever the command.
const TYPE_MAPPING = { [RESP_TYPES.BLOB_STRING]: Buffer } as const;

/** Between two tries to hear a channel on a connection that breaks, in milliseconds. */
const RETRY_MS = 100;

/** How long commands under way may take to end when the connection is closed, in milliseconds. */
const CLOSE_MS = 5000;

function reconnectStrategy(retries: number): number {
  return Math.min(50 * 2 ** Math.min(retries, 5), 1000);
}

function baseOf(target: Extract<RedisTarget, { kind: "single" | "socket" }>) {
  const address = target.kind === "single" ? { url: target.url } : {};
  const socket = target.kind === "socket" ? { path: target.path, tls: false as const } : {};
  return { ...address, socket: { ...socket, reconnectStrategy } };
}

type Base = ReturnType<typeof baseOf>;
type Commands = ReturnType<typeof newCommands>;
type Channels = ReturnType<typeof newChannels>;

function newCommands(base: Base) {
  return createClient({ ...base, RESP: 2, commandOptions: { typeMapping: TYPE_MAPPING } });
}

function newChannels(base: Base) {
  return createClient(base);
}

/**
 * One server. A connection that breaks is opened anew by the client. One whose server is gone without a word, as when a
 * machine loses its power or a network drops its packets, looks as good as one that waits, and the system would give it
 * up after a quarter of an hour only: it is replaced here, and what was under way on it fails as Unavailable.
 */
export async function connectSingle(
  target: Extract<RedisTarget, { kind: "single" | "socket" }>,
  options: SingleOptions,
): Promise<RedisConnection> {
  const connection = new SingleConnection(baseOf(target), options);
  await connection.start();
  return connection;
}

class SingleConnection implements RedisConnection {
  readonly #base: Base;
  readonly #options: SingleOptions;
  readonly #patience: Patience;
  readonly #listeners = new Map<string, Set<ChannelListener>>();
  readonly #reconnects: (() => void)[] = [];
  #commands: Commands;
  #channels: Channels;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  readonly #silence = new Silence();

  constructor(base: Base, options: SingleOptions) {
    this.#base = base;
    this.#options = options;
    this.#patience = new Patience(options.patienceMs);
    this.#commands = this.#newCommands();
    this.#channels = newChannels(base);
    this.#channels.on("error", (error) => options.onError(error));
    this.#channels.on("ready", this.#tellReconnected);
  }

  async start(): Promise<void> {
    await Promise.all([this.#commands.connect(), this.#channels.connect()]);
    const { stallMs } = this.#options;
    this.#timer = setInterval(() => {
      if (this.#silence.isLongerThan(stallMs)) this.#replace();
    }, stallMs / 4).unref();
  }

  async run(_key: string, args: readonly (string | Buffer)[]): Promise<Reply> {
    // The client's own timeout is a timer for each command.
    const waiting = { timeout: 0, abortSignal: this.#patience.signal };
    try {
      return (await this.#silence.until(this.#commands.sendCommand(args, waiting))) as unknown as Reply;
    } catch (error) {
      throw storeFault(error);
    }
  }

  async subscribe(channel: string, listener: ChannelListener): Promise<void> {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    try {
      await this.#channels.sSubscribe(channel, listener, true);
    } catch (error) {
      this.#forget(channel, listener);
      throw error;
    }
  }

  async unsubscribe(channel: string, listener: ChannelListener): Promise<void> {
    this.#forget(channel, listener);
    await this.#channels.sUnsubscribe(channel, listener, true);
  }

  onSubscriberReconnect(callback: () => void): void {
    this.#reconnects.push(callback);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    if (this.#channels.isOpen) this.#channels.destroy();
    const commands = this.#commands;
    const destroy = () => {
      if (commands.isOpen) commands.destroy();
    };
    const limit = setTimeout(() => commands.destroy(), CLOSE_MS);
    await commands.close().catch(destroy);
    clearTimeout(limit);
  }

  #forget(channel: string, listener: ChannelListener): void {
    const listeners = this.#listeners.get(channel);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#listeners.delete(channel);
  }

  #newCommands(): Commands {
    const commands = newCommands(this.#base);
    commands.on("error", (error) => {
      // A system that says that there is no connection is no silence.
      this.#silence.heard();
      this.#options.onError(error);
    });
    return commands;
  }

  readonly #tellReconnected = (): void => {
    for (const callback of this.#reconnects) callback();
  };

  #replace(): void {
    this.#options.onError(
      new Error(`Redis answered nothing for ${this.#options.stallMs} ms: connecting anew`),
    );
    this.#silence.heard();
    const onError = (error: unknown) => {
      if (!this.#closed) this.#options.onError(error);
    };
    const silent = this.#commands;
    this.#commands = this.#newCommands();
    this.#commands.connect().catch(onError);
    if (silent.isOpen) silent.destroy();

    if (this.#channels.isOpen) this.#channels.destroy();
    const channels = newChannels(this.#base);
    this.#channels = channels;
    channels.on("error", (error) => onError(error));
    const listen = async () => {
      await channels.connect();
      for (const [channel, listeners] of this.#listeners) {
        for (const listener of listeners) await this.#listenAgain(channels, channel, listener);
      }
      if (this.#channels !== channels) return;
      // What was said meanwhile was missed, as at any reconnect.
      this.#tellReconnected();
      channels.on("ready", this.#tellReconnected);
    };
    listen().catch((error) => {
      if (this.#channels === channels) onError(error);
    });
  }

  /** The new connection may break, too: the client opens it anew, but what was asked for in that moment is given up. */
  async #listenAgain(channels: Channels, channel: string, listener: ChannelListener): Promise<void> {
    const isWanted = () => this.#listeners.get(channel)?.has(listener) === true;
    while (this.#channels === channels && channels.isOpen && isWanted()) {
      try {
        await channels.sSubscribe(channel, listener, true);
        if (!isWanted()) await channels.sUnsubscribe(channel, listener, true);
        return;
      } catch (error) {
        if (this.#channels === channels && !this.#closed) this.#options.onError(error);
        await sleep(RETRY_MS);
      }
    }
  }
}
