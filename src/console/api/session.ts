/**
 * Who the operator is: a bearer token that was pasted, kept for this tab alone and sent in a header, never in an address.
 */
import { useSyncExternal } from "./store.ts";

const KEY = "baton.credential";

export interface Session {
  /** Absent: nobody is signed in. */
  readonly token: string | undefined;
  /** Why the last session ended, for the sign-in page. */
  readonly ended: string | undefined;
}

const listeners = new Set<() => void>();
let session: Session = { token: kept() ?? undefined, ended: undefined };

export const currentSession = (): Session => session;

export const useSession = (): Session => useSyncExternal(subscribe, currentSession);

export function signIn(token: string): void {
  change({ token, ended: undefined });
}

/** Forgets the token. `why`: shown above the sign-in form. */
export function signOut(why?: string): void {
  if (session.token !== undefined) change({ token: undefined, ended: why });
}

function change(next: Session): void {
  session = next;
  try {
    if (next.token === undefined) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, next.token);
  } catch {
    // A browser that keeps nothing: the token lives as long as the page.
  }
  for (const listener of listeners) listener();
}

function kept(): string | null {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
