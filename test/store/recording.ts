import type { RedisConnection } from "../../src/store/connection.ts";

/** A real connection, and what goes over it. */
export interface Recording extends RedisConnection {
  /** Commands as sent, oldest first. */
  readonly sent: (readonly (string | Buffer)[])[];
}

export function recording(redis: RedisConnection): Recording {
  const sent: (readonly (string | Buffer)[])[] = [];
  return {
    sent,
    run(key, args, options) {
      sent.push(args);
      return redis.run(key, args, options);
    },
    subscribe: (channel, listener) => redis.subscribe(channel, listener),
    unsubscribe: (channel, listener) => redis.unsubscribe(channel, listener),
    onSubscriberReconnect: (callback) => redis.onSubscriberReconnect(callback),
    close: () => redis.close(),
  };
}
