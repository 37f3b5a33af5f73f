import { address, usePlace } from "../routing/place.ts";

/** Links between the views of one page, each with an address of its own. */
export function Tabs(props: {
  readonly label: string;
  readonly parameter: string;
  readonly current: string;
  readonly tabs: readonly {
    readonly value: string;
    readonly text: string;
    readonly count?: number | undefined;
  }[];
}) {
  const { parts, query } = usePlace();
  return (
    <nav class="tabs" aria-label={props.label}>
      {props.tabs.map(({ value, text, count }, index) => (
        <a
          key={value}
          href={address(parts, {
            agent: query.get("agent") ?? undefined,
            [props.parameter]: index === 0 ? undefined : value,
          })}
          aria-current={value === props.current ? "page" : undefined}
        >
          {text}
          {count !== undefined && count > 0 && <span class="count">{count}</span>}
        </a>
      ))}
    </nav>
  );
}
