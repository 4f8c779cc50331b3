/** Shows text that machines read, with a button that copies it. */
import { useState } from 'preact/hooks';

export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  const [note, setNote] = useState('Copy');
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setNote('Copied'),
      () => setNote('Copying is not allowed here'),
    );
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
      <pre tabIndex={0}>{text}</pre>
    </figure>
  );
}

/** JSON with indentation. */
export function Json({ value, label }: { readonly value: unknown; readonly label: string }) {
  return <Code text={JSON.stringify(value, null, 2)} label={label} />;
}
