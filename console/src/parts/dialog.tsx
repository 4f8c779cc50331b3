/** Asks for confirmation or input in the browser's own dialog, which keeps the focus. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { RequestFailed } from '../api/client.ts';
import { Code } from './code.tsx';

interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly onClose: () => void;
  /** Ignores Escape, where closing by mistake would lose something. */
  readonly ignoresEscape?: boolean;
}

export function Dialog({ title, children, onClose, ignoresEscape }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => element.current?.showModal(), []);
  const cancel = (event: Event): void => {
    if (ignoresEscape === true) event.preventDefault();
  };
  return (
    <dialog ref={element} onClose={onClose} onCancel={cancel} aria-label={title}>
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
  /** The response holds a secret: the dialog cannot be closed before it, and the caller replaces it. */
  readonly returnsSecret?: boolean;
}

/** A dialog whose button sends a change; it cannot be sent twice. */
export function ActionDialog({
  title,
  verb,
  isDangerous,
  children,
  onClose,
  act,
  returnsSecret = false,
}: ActionProps) {
  const [failure, setFailure] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    const finish = returnsSecret ? () => {} : onClose;
    act().then(finish, (error: unknown) => {
      setFailure(error instanceof RequestFailed ? error.message : String(error));
      setBusy(false);
    });
  };
  return (
    <Dialog title={title} onClose={onClose} ignoresEscape={returnsSecret && isBusy}>
      <form onSubmit={submit}>
        {children}
        {failure !== null && (
          <p class="problem" role="alert">
            {failure}
          </p>
        )}
        <div class="actions">
          <button type="button" onClick={onClose} disabled={returnsSecret && isBusy}>
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

/** Shows a secret that the server returned once. The page keeps it in no other place. */
export function SecretDialog({
  title,
  value,
  label,
  children,
  onClose,
}: DialogProps & { readonly value: string; readonly label: string }) {
  return (
    <Dialog title={title} onClose={onClose} ignoresEscape>
      <p>
        <strong>Store this value now.</strong> It is shown once; nobody can read it again.
      </p>
      <Code text={value} label={label} />
      {children}
      <div class="actions">
        <button type="button" class="main" onClick={onClose}>
          I have stored it
        </button>
      </div>
    </Dialog>
  );
}
