import { Select } from "../parts/select.tsx";
import { setQuery } from "../routing/place.ts";

interface AgentFilterProps {
  /** Empty: any. */
  readonly agent: string;
  readonly agents: readonly string[];
}

/** Narrows a page to one agent, in its address. */
export function AgentFilter({ agent, agents }: AgentFilterProps) {
  return (
    <Select
      label="Agent"
      value={agent}
      options={[{ value: "", text: "any" }, ...agents.map((name) => ({ value: name, text: name }))]}
      onChange={(name) => setQuery({ agent: name })}
    />
  );
}
