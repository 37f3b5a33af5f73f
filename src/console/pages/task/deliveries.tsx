import { useEffect } from "preact/hooks";
import { pushes } from "../../api/clients.ts";
import { useLive } from "../../api/live.ts";
import { Empty, Loading } from "../../parts/empty.tsx";
import { LiveFault } from "../../parts/failure-note.tsx";
import { Section } from "../../parts/page.tsx";
import { address } from "../../routing/place.ts";
import { AttemptTable } from "../attempt-table.tsx";
import { PushDeadTable } from "../push-dead-table.tsx";
import type { TaskViewProps } from "./view.ts";

/** The filter of attempts applies to what was read, so much is read. */
const READ = 2000;

/** Pushes of the task: what was tried, what was given up. */
export function Deliveries({
  agent,
  id,
  everyMs,
  version,
  configs,
}: TaskViewProps & { readonly configs: number }) {
  const live = useLive(
    `deliveries ${agent} ${id}`,
    async (signal) => {
      const [tried, dead] = await Promise.all([
        pushes.listPushAttempts({ agent, taskId: id, limit: READ }, { signal }),
        pushes.listDeadLetters({ agent, taskId: id }, { signal }),
      ]);
      return { attempts: tried.attempts, dead: dead.deadLetters };
    },
    everyMs,
  );
  useEffect(live.refresh, [version]);
  const { data } = live;
  if (data === undefined) return live.failure === undefined ? <Loading /> : <LiveFault live={live} />;
  return (
    <>
      <LiveFault live={live} />
      {data.dead.length > 0 && (
        <Section title="Given up">
          <PushDeadTable letters={data.dead.map((letter) => ({ agent, letter }))} onChange={live.refresh} />
        </Section>
      )}
      {data.attempts.length > 0 ? (
        <Section title="Attempts">
          <AttemptTable attempts={data.attempts} />
        </Section>
      ) : (
        <Empty title={configs === 0 ? "Nobody asked to be called back." : "Nothing was pushed yet."}>
          {configs === 0
            ? "Its client registered no push config."
            : "Only the latest attempts of all tasks are remembered."}{" "}
          <a href={address(["pushes"], { agent })}>All pushes</a>
        </Empty>
      )}
    </>
  );
}
