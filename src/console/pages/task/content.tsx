/** Parts of messages and artifacts. Everything in them came from somebody else: it is shown as text, never as a page. */
import { toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { type Message, type Part, Role } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { Badge } from "../../parts/badge.tsx";
import { JsonView } from "../../parts/json-view.tsx";

export function Parts({ parts }: { readonly parts: readonly Part[] }) {
  return (
    <div class="parts">
      {parts.map((part, index) => (
        <PartView key={String(index)} part={part} />
      ))}
    </div>
  );
}

function PartView({ part: { content, filename, mediaType } }: { readonly part: Part }) {
  const label = [filename, mediaType].filter(Boolean).join(", ");
  switch (content.case) {
    case "text":
      return <p class="said">{content.value}</p>;
    case "data":
      return <JsonView value={toJson(ValueSchema, content.value)} what={label || "data"} />;
    case "url":
      return (
        <p>
          {label || "A file"} at <code class="breaking">{content.value}</code>
        </p>
      );
    case "raw":
      return (
        <p>
          {label || "A file"}, {content.value.length.toLocaleString()} bytes{" "}
          <button type="button" onClick={() => save(content.value, filename || "file")}>
            Save
          </button>
        </p>
      );
    default:
      return <p class="faint">An empty part</p>;
  }
}

/** Never opened here, whatever it calls itself: a file of a stranger's must not run as a page of the gateway's. */
function save(bytes: Uint8Array, name: string): void {
  const address = URL.createObjectURL(
    new Blob([new Uint8Array(bytes)], { type: "application/octet-stream" }),
  );
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}

export function MessageView({ message }: { readonly message: Message }) {
  const fromClient = message.role === Role.USER;
  return (
    <article class={fromClient ? "message message-client" : "message"}>
      <header>
        <Badge tone={fromClient ? "idle" : "busy"}>{fromClient ? "client" : "agent"}</Badge>
        <code class="faint">{message.messageId}</code>
      </header>
      <Parts parts={message.parts} />
    </article>
  );
}
