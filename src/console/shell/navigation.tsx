import { signOut } from "../api/session.ts";
import { address } from "../routing/place.ts";
import { countDead, countTasks, useAttention, WAITING } from "./attention.tsx";
import { PAGES } from "./pages.ts";
import { Mark } from "./sign-in.tsx";
import { nextTheme, useTheme } from "./theme.ts";

export function Navigation({ current, onHelp }: { readonly current: string; onHelp(): void }) {
  const { data, failure } = useAttention();
  const theme = useTheme();
  const dead = countDead(data?.stats);
  const counts: Readonly<Record<string, number>> = {
    inbox: (data?.pendingGrants ?? 0) + countTasks(data?.stats, ...WAITING),
    "dead-letters": dead.todos + dead.pushes,
  };
  return (
    <header class="side">
      <a class="brand" href={address([])}>
        <Mark />
        <span>Baton</span>
      </a>
      <nav aria-label="Pages">
        <ul>
          {PAGES.map(({ title, path, key }) => {
            if (key === undefined) return null;
            const name = path[0] ?? "";
            const count = counts[name] ?? 0;
            return (
              <li key={name}>
                <a
                  href={address(path)}
                  aria-current={name === current ? "page" : undefined}
                  title={`g ${key}`}
                >
                  {title}
                  {count > 0 && (
                    <span class="count">
                      {count > 999 ? "999+" : count}
                      <span class="offscreen"> waiting</span>
                    </span>
                  )}
                </a>
              </li>
            );
          })}
        </ul>
      </nav>
      <div class="side-foot">
        <p class={failure === undefined ? "link-state" : "link-state link-lost"} role="status">
          {failure === undefined
            ? data === undefined
              ? "Connecting…"
              : "Live"
            : failure.unreachable
              ? "Not reached"
              : "Fault"}
        </p>
        <button
          type="button"
          class="quiet"
          onClick={nextTheme}
          aria-label={`Theme: ${theme}. Change it`}
          title={`Theme: ${theme}`}
        >
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <circle cx="8" cy="8" r="5.5" />
            <path class="filled" d="M8 2.5a5.5 5.5 0 0 1 0 11z" />
          </svg>
          <span class="wide-only">{theme}</span>
        </button>
        <button type="button" class="quiet" onClick={onHelp} aria-label="Keyboard help" title="Keyboard help">
          ?
        </button>
        <button type="button" class="quiet" onClick={() => signOut("You have signed out.")}>
          Sign out
        </button>
      </div>
    </header>
  );
}
