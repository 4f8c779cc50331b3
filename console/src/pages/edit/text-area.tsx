/** A field for a text of many lines that machines read. */
interface TextAreaProps {
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

const rowsMax = 40;

export function TextArea({ label, value, onValue }: TextAreaProps) {
  const rows = Math.min(rowsMax, Math.max(6, value.split('\n').length + 1));
  return (
    <label class="field wide">
      <span>{label}</span>
      <textarea
        class="code"
        value={value}
        rows={rows}
        spellcheck={false}
        autoComplete="off"
        wrap="off"
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
      />
    </label>
  );
}
