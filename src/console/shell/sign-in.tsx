import { Code, ConnectError } from "@connectrpc/connect";
import { useState } from "preact/hooks";
import { tryToken } from "../api/clients.ts";
import { failureOf } from "../api/failure.ts";
import { signIn } from "../api/session.ts";
import { Field } from "../parts/field.tsx";

/** Asks for the credential. `ended`: why the session before is over. */
export function SignIn({ ended }: { readonly ended: string | undefined }) {
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const submit = async () => {
    const given = token.trim().replace(/^Bearer\s+/i, "");
    if (given === "") {
      setFault("Paste the credential first.");
      return;
    }
    // Anything else cannot be sent in a header.
    if (!/^[\x21-\x7e]+$/.test(given)) {
      setFault(
        "A credential holds no spaces and no letters beyond ASCII. Was more than the credential copied?",
      );
      return;
    }
    setBusy(true);
    setFault(undefined);
    try {
      await tryToken(given);
      signIn(given);
    } catch (error) {
      const refused = ConnectError.from(error).code === Code.Unauthenticated;
      setFault(
        refused
          ? "The gateway does not accept this credential. A credential of an endpoint is none for operators."
          : failureOf(error).text,
      );
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <Mark />
        <h1 tabIndex={-1}>Baton console</h1>
        {ended !== undefined && (
          <p class="warning" role="status">
            {ended}
          </p>
        )}
        <Field
          label="Admin credential"
          name="credential"
          type="password"
          value={token}
          autoFocus
          onInput={setToken}
          hint={
            <>
              Where none was configured, <code>baton serve</code> made one: it is in{" "}
              <code>.baton/admin.token</code>. An ID token of a person named in <code>admin.people</code>{" "}
              works too. It is kept for this tab only.
            </>
          }
        />
        <div role="alert">{fault !== undefined && <p class="fault">{fault}</p>}</div>
        <button type="submit" class="primary" disabled={busy}>
          {busy ? "Asking the gateway…" : "Sign in"}
        </button>
      </form>
    </main>
  );
}

export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <path d="M8 24 24 8" />
      <circle cx="24" cy="8" r="3.2" />
    </svg>
  );
}
