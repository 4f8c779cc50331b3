/** Input fields with their labels. */
import type { ComponentChildren } from 'preact';

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly hint?: string;
}

export function TextField({
  label,
  value,
  onValue,
  hint,
  type = 'text',
  isRequired,
}: FieldProps & {
  readonly type?: 'text' | 'number' | 'datetime-local' | 'email';
  readonly isRequired?: boolean;
}) {
  // The types of preact tie each type of input to its own members, so a type that varies needs a cast.
  const typed = { type } as { type: 'text' };
  return (
    <label class="field">
      <span>{label}</span>
      <input
        {...typed}
        value={value}
        placeholder={hint}
        required={isRequired}
        autoComplete="off"
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
      />
    </label>
  );
}

export function ChoiceField({
  label,
  value,
  onValue,
  choices,
}: FieldProps & {
  /** Values with their texts. */
  readonly choices: readonly (readonly [string, string])[];
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={({ currentTarget }) => onValue(currentTarget.value)}>
        {choices.map(([choice, text]) => (
          <option key={choice} value={choice}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Fields that narrow a list. */
export function Filters({ children }: { readonly children: ComponentChildren }) {
  return (
    <search class="filters" aria-label="Filters">
      {children}
    </search>
  );
}
