/** Shows text that machines read, with a button that copies it. */
import { useEffect, useRef, useState } from 'preact/hooks';

export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  const [note, setNote] = useState('Copy');
  useEffect(() => setNote('Copy'), [text]);
  const element = useRef<HTMLPreElement>(null);
  const copy = (): void => {
    // Pages without TLS have no clipboard; the text is then selected for the keyboard.
    const refuse = (): void => {
      if (element.current !== null) getSelection()?.selectAllChildren(element.current);
      setNote('Press Ctrl+C to copy');
    };
    const { clipboard } = navigator as { clipboard?: Clipboard };
    if (clipboard === undefined) refuse();
    else clipboard.writeText(text).then(() => setNote('Copied'), refuse);
  };
  return (
    <figure class="code">
      <figcaption>
        <span>{label}</span>
        <button type="button" onClick={copy}>
          {note}
        </button>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <pre ref={element} tabIndex={0}>
        {text}
      </pre>
    </figure>
  );
}

/** JSON with indentation. */
export function Json({ value, label }: { readonly value: unknown; readonly label: string }) {
  return <Code text={JSON.stringify(value, null, 2)} label={label} />;
}
