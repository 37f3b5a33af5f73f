import type { Followers } from "../backends/openwop/followers.ts";
import type { MetricFamily } from "../telemetry/exposition.ts";

interface Kind {
  readonly type: "counter" | "gauge";
  readonly help: string;
  readonly merge?: MetricFamily["merge"];
  read(followers: Followers): number;
}

const KINDS: Readonly<Record<string, Kind>> = {
  baton_openwop_runs_followed: {
    type: "gauge",
    help: "Runs that this process follows, by stream or by looking at them",
    read: (followers) => followers.size,
  },
  baton_openwop_streams_open: {
    type: "gauge",
    help: "Places for event streams that are taken; runs followed beyond them are polled",
    read: (followers) => followers.streams,
  },
  baton_openwop_oldest_unreconciled_seconds: {
    type: "gauge",
    merge: "max",
    help: "Time since the followed run that is furthest behind was compared with its host; 0 while all have a stream",
    read: (followers) => followers.metrics.oldestAge(Date.now()) / 1000,
  },
  baton_openwop_reconnects_total: {
    type: "counter",
    help: "Event streams opened again after one of the same run had ended",
    read: ({ metrics }) => metrics.reconnects,
  },
  baton_openwop_polls_total: {
    type: "counter",
    help: "Looks at runs without a stream",
    read: ({ metrics }) => metrics.polls,
  },
  baton_openwop_follow_faults_total: {
    type: "counter",
    help: "Times that a followed run could not be read; each is tried again",
    read: ({ metrics }) => metrics.faults,
  },
  baton_openwop_leases_lost_total: {
    type: "counter",
    help: "Runs that were taken over while this process followed them",
    read: ({ metrics }) => metrics.leasesLost,
  },
};

/** What the followers of each agent on an OpenWOP host do in this process. */
export function followerFamilies(agents: Iterable<readonly [string, Followers]>): readonly MetricFamily[] {
  const all = [...agents];
  return Object.entries(KINDS).map(([name, { type, help, merge = "sum", read }]) => ({
    name,
    type,
    help,
    merge,
    samples: all.map(([agent, followers]) => ({ labels: { agent }, value: read(followers) })),
  }));
}
