/** Whose eyes a read is done with. `shared`: the agent lets every endpoint of a queue see that queue's tasks. */
export interface Viewer {
  readonly id: string;
  readonly shared: boolean;
  readonly queues: readonly string[];
  /** An operator's eyes: every task of the agent. */
  readonly all?: boolean;
}

/** A viewer as the scripts take it: what `visible` of lib/task.lua decides by. */
export function viewerArgs({ id, shared, queues, all }: Viewer): {
  readonly caller: string;
  readonly shared: string;
  readonly queues: string;
} {
  if (all === true) return { caller: id, shared: "*", queues: "" };
  return shared
    ? { caller: id, shared: "1", queues: JSON.stringify(queues) }
    : { caller: id, shared: "", queues: "" };
}
