import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

export interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly wide?: boolean;
  /** Escape does not close it: what it shows is never shown again. */
  readonly sticky?: boolean;
  onClose(): void;
}

/** A modal dialog. The browser keeps the focus inside, closes it on Escape and gives the focus back. */
export function Dialog({ title, children, wide = false, sticky = false, onClose }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const close = useRef(onClose);
  close.current = onClose;
  // Before it is painted: what is shown and not yet open would not close on Escape.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (element === null) return;
    const before = document.activeElement;
    element.showModal();
    return () => {
      element.close();
      if (!(before instanceof HTMLElement)) return;
      // What opened it may be gone by what was done; then the page's heading is where one is.
      if (before.isConnected) before.focus();
      else document.querySelector<HTMLElement>("main h1")?.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={wide ? "dialog dialog-wide" : "dialog"}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        if (!sticky) close.current();
      }}
      // Chromium closes a dialog at the second Escape whatever `cancel` says.
      onKeyDown={(event) => {
        if (event.key === "Escape" && sticky) event.preventDefault();
      }}
    >
      <h2 id={heading}>{title}</h2>
      {children}
    </dialog>
  );
}
