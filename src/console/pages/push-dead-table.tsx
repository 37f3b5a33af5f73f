import { useState } from "preact/hooks";
import type { DeadLetter } from "../../../gen/baton/admin/v1/push_pb.js";
import { pushes } from "../api/clients.ts";
import { Confirm } from "../parts/confirm.tsx";
import { DataTable } from "../parts/data-table.tsx";
import { notify } from "../parts/notices.tsx";
import { shortId } from "../parts/short.ts";
import { When } from "../parts/when.tsx";
import { deadText } from "./attempt-table.tsx";
import { taskAddress } from "./task-table.tsx";

/** A push that was given up, and whose. */
export interface DeadPush {
  readonly agent: string;
  readonly letter: DeadLetter;
}

const keyOf = ({ agent, letter }: DeadPush) => `${agent}/${letter.id}`;

/** Pushes that were given up: some of them can be chosen, to be sent again or removed. */
export function PushDeadTable({
  letters,
  onChange,
}: {
  readonly letters: readonly DeadPush[];
  onChange(): void;
}) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [asking, setAsking] = useState<"replay" | "purge">();
  const [wanted, setWanted] = useState<readonly DeadPush[]>([]);
  const marked = letters.filter((letter) => chosen.has(keyOf(letter)));
  const ask = (what: "replay" | "purge", which: readonly DeadPush[]) => {
    setWanted(which);
    setAsking(what);
  };
  const choose = (key: string, on: boolean) => {
    const next = new Set(chosen);
    if (on) next.add(key);
    else next.delete(key);
    setChosen(next);
  };
  const done = (text: string) => {
    notify(text);
    setChosen(new Set());
    onChange();
  };
  return (
    <>
      <div class="batch">
        <label class="check">
          <input
            type="checkbox"
            checked={marked.length > 0 && marked.length === letters.length}
            onChange={(event) => setChosen(new Set(event.currentTarget.checked ? letters.map(keyOf) : []))}
          />
          All {letters.length}
        </label>
        <button type="button" disabled={marked.length === 0} onClick={() => ask("replay", marked)}>
          Replay {marked.length === 0 ? "chosen" : marked.length}
        </button>
        <button type="button" disabled={marked.length === 0} onClick={() => ask("purge", marked)}>
          Remove {marked.length === 0 ? "chosen" : marked.length}
        </button>
      </div>
      <DataTable
        caption="Pushes that were given up"
        rows={letters}
        keyOf={keyOf}
        columns={[
          {
            head: "Choose",
            hideHead: true,
            cell: (push) => (
              <input
                type="checkbox"
                data-row
                aria-label={`Choose the push to ${push.letter.host}, log ${push.letter.sequence} of task ${push.letter.taskId}`}
                checked={chosen.has(keyOf(push))}
                onChange={(event) => choose(keyOf(push), event.currentTarget.checked)}
              />
            ),
          },
          {
            head: "Receiver",
            cell: ({ letter }) => (
              <>
                <code class="breaking">{letter.host}</code>
                <p class="sub">{deadText(letter)}</p>
                <p class="sub narrow-only">
                  <When at={letter.deadAt} />
                </p>
              </>
            ),
          },
          {
            head: "Task",
            cell: ({ agent, letter }) => (
              <>
                <a href={taskAddress(agent, letter.taskId)}>
                  <code>{shortId(letter.taskId)}</code>
                </a>{" "}
                <span class="faint">log {String(letter.sequence)}</span>
              </>
            ),
          },
          { head: "Tries", align: "end", wideOnly: true, cell: ({ letter }) => letter.attempts },
          {
            head: "Event of",
            align: "end",
            wideOnly: true,
            cell: ({ letter }) => <When at={letter.committedAt} />,
          },
          {
            head: "Given up",
            align: "end",
            wideOnly: true,
            cell: ({ letter }) => <When at={letter.deadAt} />,
          },
          {
            head: "Actions",
            hideHead: true,
            align: "end",
            cell: (push) => (
              <button type="button" onClick={() => ask("replay", [push])}>
                Replay
              </button>
            ),
          },
        ]}
      />
      {asking === "replay" && (
        <Confirm
          title={wanted.length === 1 ? "Replay this push?" : `Replay ${wanted.length} pushes?`}
          action="Replay"
          onClose={() => setAsking(undefined)}
          run={async () => {
            const answers = await Promise.all(
              byAgent(wanted).map(([agent, ids]) => pushes.replayDeadLetters({ agent, ids })),
            );
            const replayed = answers.reduce((sum, answer) => sum + answer.replayed, 0);
            const refused = answers.reduce((sum, answer) => sum + answer.refused, 0);
            done(
              refused === 0
                ? `${replayed} on the way again.`
                : `${replayed} on the way again; ${refused} stay, because their config or its credential is gone.`,
            );
          }}
        >
          <p>
            Each is sent again with a fresh budget of attempts, after what waits for the same config. A
            receiver that got one already gets it twice.
          </p>
        </Confirm>
      )}
      {asking === "purge" && (
        <Confirm
          title={wanted.length === 1 ? "Remove this push?" : `Remove ${wanted.length} pushes?`}
          action="Remove for good"
          danger
          onClose={() => setAsking(undefined)}
          run={async () => {
            const answers = await Promise.all(
              byAgent(wanted).map(([agent, ids]) => pushes.purgeDeadLetters({ agent, ids })),
            );
            done(`${answers.reduce((sum, { purged }) => sum + purged, 0)} removed.`);
          }}
        >
          <p>Their receivers will never get them. This cannot be undone.</p>
        </Confirm>
      )}
    </>
  );
}

/** One call for each agent: a call is about one. */
function byAgent(wanted: readonly DeadPush[]): readonly (readonly [agent: string, ids: string[]])[] {
  const groups = new Map<string, string[]>();
  for (const { agent, letter } of wanted) groups.set(agent, [...(groups.get(agent) ?? []), letter.id]);
  return [...groups];
}
