import { useState } from "preact/hooks";
import { type Grant, GrantState } from "../../../../gen/baton/admin/v1/grant_pb.js";
import { grants } from "../../api/clients.ts";
import { Badge, type Tone } from "../../parts/badge.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { Id } from "../../parts/copy.tsx";
import { notify } from "../../parts/notices.tsx";
import { SecretDialog } from "../../parts/secret-dialog.tsx";
import { When } from "../../parts/when.tsx";
import { address } from "../../routing/place.ts";
import { scopeText } from "../endpoint/scope.tsx";
import { ApproveDialog } from "./approve.tsx";

export const GRANT_STATES: readonly {
  readonly state: GrantState;
  readonly word: string;
  readonly tone: Tone;
}[] = [
  { state: GrantState.PENDING, word: "pending", tone: "waiting" },
  { state: GrantState.APPROVED, word: "approved", tone: "good" },
  { state: GrantState.DENIED, word: "denied", tone: "idle" },
  { state: GrantState.REVOKED, word: "revoked", tone: "idle" },
];

type Asking = "approve" | "deny" | "revoke" | "reissue" | "delete";

/** A friend request: who asks for what, and what can be done about it. */
export function GrantCard({ grant, onChange }: { readonly grant: Grant; onChange(): void }) {
  const [asking, setAsking] = useState<Asking>();
  const [pickup, setPickup] = useState<string>();
  const { id, fromPersona, fromHuman } = grant;
  const { word, tone } = GRANT_STATES.find(({ state }) => state === grant.state) ?? {
    word: "unknown",
    tone: "idle",
  };
  const close = () => setAsking(undefined);
  const done = (text: string) => {
    notify(text);
    onChange();
  };
  const button = (what: Asking, text: string, kind?: string) => (
    <button
      type="button"
      class={kind}
      aria-label={`${text} the request of ${fromPersona}`}
      onClick={() => setAsking(what)}
    >
      {text}
    </button>
  );
  return (
    <article class="card">
      <header class="card-head">
        <h2>
          {fromPersona} <span class="faint">to</span> {grant.agent}
        </h2>
        <Badge tone={tone}>{word}</Badge>
      </header>
      <dl class="facts">
        <div>
          <dt>Asked by</dt>
          <dd>
            {fromHuman?.email || fromHuman?.subject}{" "}
            <span class="faint">attested by {fromHuman?.issuer}</span>
          </dd>
        </div>
        <div>
          <dt>{grant.granted === undefined ? "Wants to" : "May"}</dt>
          <dd>{scopeText(grant.granted ?? grant.requested)}</dd>
        </div>
        <div>
          <dt>Asked</dt>
          <dd>
            <When at={grant.createdAt} />
          </dd>
        </div>
        {grant.state === GrantState.APPROVED && (
          <div>
            <dt>Credential</dt>
            <dd>
              {grant.pickedUpAt === undefined ? (
                <>
                  not fetched; can be until <When at={grant.pickupUntil} />
                </>
              ) : (
                <>
                  fetched <When at={grant.pickedUpAt} />
                </>
              )}
            </dd>
          </div>
        )}
        <div>
          <dt>Request</dt>
          <dd>
            <Id value={id} what="the request id" short />{" "}
            {grant.endpointId !== "" && <a href={address(["endpoints", grant.endpointId])}>its endpoint</a>}
          </dd>
        </div>
      </dl>
      <p class="said">{grant.reason || "No reason was given."}</p>
      <p class="hint">
        The persona and the reason are the requester's own words. The issuer attested who asks.
      </p>
      <div class="buttons">
        {grant.state === GrantState.PENDING && (
          <>
            {button("deny", "Deny")}
            {button("approve", "Approve", "primary")}
          </>
        )}
        {grant.state === GrantState.APPROVED && (
          <>
            {button("reissue", "Make a new pickup token for")}
            {button("revoke", "Revoke", "danger")}
          </>
        )}
        {(grant.state === GrantState.DENIED || grant.state === GrantState.REVOKED) &&
          button("delete", "Delete", "danger")}
      </div>
      {asking === "approve" && (
        <ApproveDialog
          grant={grant}
          onClose={close}
          onDone={() => done(`${fromPersona} may hand work to ${grant.agent}.`)}
        />
      )}
      {asking === "deny" && (
        <Confirm
          title={`Deny the request of ${fromPersona}?`}
          action="Deny"
          danger
          onClose={close}
          run={async () => {
            await grants.denyGrant({ id });
            done("The request is denied.");
          }}
        >
          <p>The requester learns that it was denied, and may ask again.</p>
        </Confirm>
      )}
      {asking === "revoke" && (
        <Confirm
          title={`Revoke the friendship with ${fromPersona}?`}
          action="Revoke"
          danger
          onClose={close}
          run={async () => {
            const { deadLettered } = await grants.revokeGrant({ id });
            done(`The friendship has ended; ${deadLettered} of its open tasks have failed.`);
          }}
        >
          <p>Its credential is dead at once, and its open tasks fail for good. This cannot be undone.</p>
        </Confirm>
      )}
      {asking === "reissue" && (
        <Confirm
          title={`Make a new pickup token for ${fromPersona}?`}
          action="Make it"
          onClose={close}
          run={async () => {
            const { pickupToken } = await grants.reissuePickup({ id });
            setPickup(pickupToken);
            onChange();
          }}
        >
          <p>The old token, and the credential that may have been fetched with it, are dead at once.</p>
        </Confirm>
      )}
      {asking === "delete" && (
        <Confirm
          title={`Delete the request of ${fromPersona}?`}
          action="Delete"
          danger
          onClose={close}
          run={async () => {
            await grants.deleteGrant({ id });
            done("The request was deleted.");
          }}
        >
          <p>Its record is removed. This cannot be undone.</p>
        </Confirm>
      )}
      {pickup !== undefined && (
        <SecretDialog
          title="The new pickup token"
          what="the pickup token"
          secret={pickup}
          onClose={() => setPickup(undefined)}
        >
          <p>Hand it to the requester, who fetches the credential with it, once.</p>
        </SecretDialog>
      )}
    </article>
  );
}
