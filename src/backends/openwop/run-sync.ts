import { isReplay } from "../../domain/openwop/fork.ts";
import { artifactOf, outputArtifacts } from "../../domain/openwop/run-artifact.ts";
import {
  agrees,
  type Effect,
  type FoldEvent,
  foldEvent,
  foldSnapshot,
  type RunView,
} from "../../domain/openwop/run-fold.ts";
import { projectStatus } from "../../domain/openwop/run-projection.ts";
import { isEnded } from "../../domain/openwop/run-status.ts";
import type { RunChange, RunRecord } from "../../store/run-records.ts";
import type { RunStore } from "../../store/runs.ts";
import type { EventPage, RunSnapshot } from "./client/answers.ts";
import { HostRefusal, isTransient } from "./client/errors.ts";
import type { HostLink } from "./host-link.ts";

/** The run is followed by somebody else, or gone: whoever gets this stops. */
export class NotOurs extends Error {
  override readonly name = "NotOurs";
}

/** Without a visible change, the cursor is stored after this many events, so that a restart need not read them again. */
const QUIET_EVENTS = 200;
const MAX_ROUNDS = 8;

/** Brings tasks up with their runs, from events or from snapshots. Any replica may do it at any time. */
export class RunSync {
  readonly #link: HostLink;
  readonly #store: RunStore;
  readonly #catching = new Map<string, Promise<RunRecord | undefined>>();

  constructor(link: HostLink, store: RunStore) {
    this.#link = link;
    this.#store = store;
  }

  /**
   * Takes events into the record; those it knows are skipped. Answers the record as it then is: stored where a client
   * can see a change, otherwise only in memory, for the next call. Throws {@link NotOurs}.
   */
  async take(start: RunRecord, events: readonly FoldEvent[], fence: string | undefined): Promise<RunRecord> {
    let record = start;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const fresh = events.filter((event) => event.sequence > record.cursor);
      const last = fresh.at(-1);
      if (last === undefined || isEnded(record.view.status)) return record;
      let view: RunView = record.view;
      const changes: RunChange[] = [];
      for (const event of fresh) {
        const folded = foldEvent(view, event);
        view = folded.view;
        changes.push(...(await this.#changes(record, folded.effects, `${event.sequence}`)));
      }
      const next = { ...record, view, cursor: last.sequence };
      if (changes.length === 0 && fresh.length < QUIET_EVENTS && last.sequence % QUIET_EVENTS !== 0)
        return next;
      const stored = await this.#apply(record, next, changes, fence);
      if (stored.done) return stored.record;
      record = stored.record;
    }
    return record;
  }

  /**
   * Asks the host how the run stands, and takes in what is missing: the events first, and the snapshot itself only where
   * the log has nothing more to say. Of a replay only the snapshot counts: its events were told before (OW-53). `settle`: also wait up to a second for events that the host may be about to write.
   */
  async catchUp(id: string, settle = false): Promise<RunRecord | undefined> {
    if (settle) return this.#catchUp(id, true);
    let running = this.#catching.get(id);
    if (running === undefined) {
      running = this.#catchUp(id, false).finally(() => this.#catching.delete(id));
      this.#catching.set(id, running);
    }
    return running;
  }

  async #catchUp(id: string, settle: boolean): Promise<RunRecord | undefined> {
    let record = await this.#store.read(this.#link.agent, id);
    for (let round = 0; round < MAX_ROUNDS; round++) {
      if (record === undefined || isEnded(record.view.status)) return record;
      const token = this.#link.credentials.token(record.credential);
      const snapshot = await this.#link.client.readRun(token, id, true);
      const agreed = agrees(record.view, snapshot);
      if (agreed && !(settle && round === 0)) return record;
      const page = isReplay(record.fork) ? undefined : await this.#poll(token, id, record.cursor);
      if (page !== undefined && page.events.length > 0) {
        const taken = await this.take(record, page.events, undefined);
        record = taken.version === record.version ? taken : await this.#store.read(this.#link.agent, id);
      } else if (agreed) return record;
      else return this.#fromSnapshot(record, snapshot);
    }
    return record;
  }

  /** A run that its host no longer knows cannot go on: the task fails. */
  async lose(record: RunRecord, fence: string): Promise<RunRecord> {
    return this.#fromSnapshot(record, { status: "failed", error: { code: "run_not_found" } }, fence);
  }

  async #fromSnapshot(
    record: RunRecord,
    snapshot: Pick<RunSnapshot, "status" | "currentNodeId" | "error">,
    fence?: string,
  ): Promise<RunRecord> {
    const { view, effects } = foldSnapshot(record.view, snapshot, Date.now());
    const changes = await this.#changes(record, effects, `v${record.version}`);
    const stored = await this.#apply(record, { ...record, view }, changes, fence);
    return stored.record;
  }

  /** `done` is false where somebody was faster: then the record is the one to start again from. */
  async #apply(
    record: RunRecord,
    next: RunRecord,
    changes: readonly RunChange[],
    fence: string | undefined,
  ): Promise<{ readonly done: boolean; readonly record: RunRecord }> {
    const { agent } = this.#link;
    const result = await this.#store.apply(agent, record, {
      fence,
      cursor: next.cursor,
      view: next.view,
      changes,
      actor: "host",
    });
    if (result === "ok") {
      const added = changes.flatMap((change) =>
        change.kind === "artifact" ? [change.artifact.artifactId] : [],
      );
      const artifacts = [...new Set([...record.artifacts, ...added])];
      return { done: true, record: { ...next, version: record.version + 1, artifacts } };
    }
    if (result === "fenced" || result === "notfound") throw new NotOurs(result);
    const present = await this.#store.read(agent, record.id);
    if (present === undefined) throw new NotOurs("gone");
    return { done: isEnded(present.view.status), record: present };
  }

  async #changes(record: RunRecord, effects: readonly Effect[], mark: string): Promise<RunChange[]> {
    const changes: RunChange[] = [];
    for (const effect of effects) {
      if (effect.kind === "artifact") {
        const body = await this.#artifact(record, effect.artifactId);
        if (body === undefined) continue;
        changes.push({ kind: "artifact", artifact: artifactOf(effect.artifactId, effect.name, body) });
      } else if (effect.kind === "outputs") {
        const sent = new Set(record.artifacts);
        for (const artifact of outputArtifacts(effect.outputs, sent))
          changes.push({ kind: "artifact", artifact });
      } else {
        const status = projectStatus(effect.view, await this.#link.rules(), {
          messageId: `${record.id}#${mark}`,
          errorText: effect.errorText,
          permittedPurposes: record.purposes,
          fork: record.fork,
        });
        changes.push({ kind: "status", status, at: effect.at });
      }
    }
    return changes;
  }

  /** Undefined where the host does not hand the artifact out; a fault that may pass is thrown, and the event read again. */
  async #artifact(record: RunRecord, artifactId: string): Promise<unknown> {
    try {
      const token = this.#link.credentials.token(record.credential);
      return await this.#link.client.artifact(token, record.id, artifactId);
    } catch (error) {
      if (isTransient(error)) throw error;
      return undefined;
    }
  }

  /** Undefined on a host without the poll route: then there is only the snapshot. */
  async #poll(token: string, id: string, after: number): Promise<EventPage | undefined> {
    try {
      return await this.#link.client.poll(token, id, after, 1);
    } catch (error) {
      if (error instanceof HostRefusal && [404, 405, 501].includes(error.status)) return undefined;
      throw error;
    }
  }
}
