import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { useSession } from "../api/session.ts";
import { Notices } from "../parts/notices.tsx";
import { usePlace } from "../routing/place.ts";
import { AttentionContext, useReadAttention } from "./attention.tsx";
import { Help } from "./help.tsx";
import { useKeys } from "./keys.ts";
import { Navigation } from "./navigation.tsx";
import { pageAt } from "./pages.ts";
import { SignIn } from "./sign-in.tsx";

export function App() {
  const { token, ended } = useSession();
  useEffect(() => {
    if (token === undefined) document.title = "Sign in · Baton console";
  }, [token]);
  return (
    <>
      {token === undefined ? <SignIn ended={ended} /> : <SignedIn key={token} />}
      <Notices />
    </>
  );
}

function SignedIn() {
  const { parts } = usePlace();
  const { entry, names } = pageAt(parts);
  const attention = useReadAttention();
  const [helping, setHelping] = useState(false);
  useKeys(useCallback(() => setHelping(true), []));

  const path = parts.join("/");
  const first = useRef(true);
  useEffect(() => {
    const name = names.at(-1);
    document.title = [name === undefined ? entry.title : `${entry.title} ${name}`, "Baton console"].join(
      " · ",
    );
    // Whoever cannot see that the page has changed is taken to its heading, as after a load.
    if (!first.current) {
      document.querySelector<HTMLElement>("main h1")?.focus();
      scrollTo(0, 0);
    }
    first.current = false;
  }, [path]);

  const Current = entry.page;
  return (
    <AttentionContext value={attention}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <div class="shell">
        <Navigation
          current={parts[0] === "agents" ? "tasks" : (parts[0] ?? "")}
          onHelp={() => setHelping(true)}
        />
        <main id="main" class="main" tabIndex={-1}>
          <Current key={path} names={names} />
        </main>
      </div>
      {helping && <Help onClose={() => setHelping(false)} />}
    </AttentionContext>
  );
}
