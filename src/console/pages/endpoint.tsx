import { type Duration, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt";
import { useState } from "preact/hooks";
import { type Endpoint, EndpointState } from "../../../gen/baton/admin/v1/endpoint_pb.js";
import { endpoints } from "../api/clients.ts";
import { useLive } from "../api/live.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Id } from "../parts/copy.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Loading } from "../parts/empty.tsx";
import { Facts } from "../parts/facts.tsx";
import { FailureNote, LiveFault } from "../parts/failure-note.tsx";
import { Field } from "../parts/field.tsx";
import { FormButtons } from "../parts/form-buttons.tsx";
import { notify } from "../parts/notices.tsx";
import { Page, Section } from "../parts/page.tsx";
import { shortId } from "../parts/short.ts";
import { useAction } from "../parts/use-action.ts";
import { durationText, When } from "../parts/when.tsx";
import { address, go } from "../routing/place.ts";
import { ScopeView } from "./endpoint/scope.tsx";
import { EndpointBadge } from "./endpoints.tsx";

export function EndpointPage({ names }: { readonly names: readonly string[] }) {
  const [id = ""] = names;
  const [open, setOpen] = useState<"edit" | "revoke" | "delete">();
  const live = useLive(`endpoint ${id}`, (signal) => endpoints.getEndpoint({ id }, { signal }), 5000);
  const endpoint = live.data?.endpoint;
  if (endpoint === undefined) {
    return (
      <Page title={<>Endpoint {shortId(id)}</>}>
        {live.failure === undefined ? <Loading /> : <LiveFault live={live} />}
        {live.failure !== undefined && <a href={address(["endpoints"])}>All endpoints</a>}
      </Page>
    );
  }
  const active = endpoint.state === EndpointState.ACTIVE;
  const close = () => setOpen(undefined);
  return (
    <Page
      title={endpoint.name}
      actions={
        <>
          <button type="button" onClick={() => setOpen("edit")}>
            Change
          </button>
          {active ? (
            <button type="button" class="danger" onClick={() => setOpen("revoke")}>
              Revoke
            </button>
          ) : (
            <button type="button" class="danger" onClick={() => setOpen("delete")}>
              Delete
            </button>
          )}
        </>
      }
    >
      <LiveFault live={live} />
      <p class="task-line">
        <EndpointBadge state={endpoint.state} />
        <Id value={endpoint.id} what="the endpoint id" />
        <a href={address(["tasks"], { endpoint: endpoint.id })}>Tasks that it sent</a>
      </p>
      <Section title="What it may do">
        <ScopeView scope={endpoint.scope} />
        <p class="hint">Fixed when it was vended. To change it, revoke it and vend another.</p>
      </Section>
      <Section title="Facts">
        <Facts
          facts={[
            ["Agent", endpoint.agent],
            ["Owner", endpoint.owner],
            ["Credential begins", <code>{endpoint.credentialPrefix}</code>],
            [
              "Default lease",
              endpoint.defaultLease === undefined ? "the server's" : durationText(endpoint.defaultLease),
            ],
            ["Vended", <When at={endpoint.createdAt} />],
            ["Used", <When at={endpoint.lastSeenAt} />],
            ["Expires", <When at={endpoint.expiresAt} />],
            active ? undefined : ["Ended", <When at={endpoint.revokedAt ?? endpoint.expiresAt} />],
          ]}
        />
      </Section>
      {open === "edit" && <Edit endpoint={endpoint} onClose={close} onChanged={live.refresh} />}
      {open === "revoke" && (
        <Confirm
          title={`Revoke “${endpoint.name}”?`}
          action="Revoke"
          danger
          onClose={close}
          run={async () => {
            const { deadLettered } = await endpoints.revokeEndpoint({ id });
            notify(`“${endpoint.name}” is revoked; ${deadLettered} of its open tasks have failed.`);
            live.refresh();
          }}
        >
          <p>
            Its credential is dead at once, its streams are closed, and its open tasks fail for good. This
            cannot be undone.
          </p>
        </Confirm>
      )}
      {open === "delete" && (
        <Confirm
          title={`Delete “${endpoint.name}”?`}
          action="Delete"
          danger
          onClose={close}
          run={async () => {
            await endpoints.deleteEndpoint({ id });
            notify(`“${endpoint.name}” was deleted.`);
            go(address(["endpoints"]));
          }}
        >
          <p>Its record is removed. Tasks that it sent stay, with an id in place of its name.</p>
        </Confirm>
      )}
    </Page>
  );
}

function Edit(props: { readonly endpoint: Endpoint; onClose(): void; onChanged(): void }) {
  const { endpoint, onClose, onChanged } = props;
  const [name, setName] = useState(endpoint.name);
  const [lease, setLease] = useState(secondsOf(endpoint.defaultLease));
  const { busy, failure, start } = useAction(async () => {
    await endpoints.updateEndpoint({
      id: endpoint.id,
      name: name.trim(),
      defaultLease: durationFromMs(Number(lease || "0") * 1000),
    });
    notify("Changed.");
    onChanged();
    onClose();
  });
  return (
    <Dialog title={`Change “${endpoint.name}”`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          start();
        }}
      >
        <Field label="Name" name="name" value={name} required autoFocus failure={failure} onInput={setName} />
        <Field
          label="Default lease, in seconds"
          name="defaultLease"
          type="number"
          value={lease}
          failure={failure}
          onInput={setLease}
          hint="60 to 86400. Empty: the server's."
        />
        {failure !== undefined && <FailureNote failure={failure} />}
        <FormButtons action="Save" disabled={busy} onClose={onClose} />
      </form>
    </Dialog>
  );
}

function secondsOf(duration: Duration | undefined): string {
  return duration === undefined ? "" : String(durationMs(duration) / 1000);
}
