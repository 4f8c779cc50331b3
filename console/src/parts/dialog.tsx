/** Asks for confirmation or input in the browser's own dialog, which keeps the focus. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { RequestFailed } from '../api/client.ts';

interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly onClose: () => void;
}

export function Dialog({ title, children, onClose }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => element.current?.showModal(), []);
  return (
    <dialog ref={element} onClose={onClose} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

interface ActionProps {
  readonly title: string;
  /** Text of the button that acts. */
  readonly verb: string;
  readonly isDangerous?: boolean;
  readonly children: ComponentChildren;
  readonly onClose: () => void;
  /** Closes the dialog unless it throws; then the failure is shown in it. */
  readonly act: () => Promise<void>;
}

/** A dialog whose button sends a change; it cannot be sent twice. */
export function ActionDialog({ title, verb, isDangerous, children, onClose, act }: ActionProps) {
  const [failure, setFailure] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    act().then(onClose, (error: unknown) => {
      setFailure(error instanceof RequestFailed ? error.message : String(error));
      setBusy(false);
    });
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        {children}
        {failure !== null && (
          <p class="problem" role="alert">
            {failure}
          </p>
        )}
        <div class="actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            class={isDangerous === true ? 'dangerous' : 'main'}
            disabled={isBusy}
          >
            {verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
