/** Input fields with their labels. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly hint?: string;
}

interface TextType {
  readonly type?: 'text' | 'number' | 'datetime-local' | 'email' | 'url';
}

export function TextField({
  label,
  value,
  onValue,
  hint,
  type = 'text',
  isRequired,
  min,
}: FieldProps &
  TextType & {
    readonly isRequired?: boolean;
    /** Least value of a number. */
    readonly min?: number;
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
        min={min}
        step={type === 'number' ? 'any' : undefined}
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

export function LongTextField({ label, value, onValue, hint }: FieldProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <textarea
        rows={5}
        value={value}
        placeholder={hint}
        autoComplete="off"
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
      />
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

/** A choice of yes or no. */
export function CheckField({
  label,
  isOn,
  onChange,
}: {
  readonly label: ComponentChildren;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={isOn}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}

/** Fields that belong together, under one heading. */
export function FieldGroup({
  legend,
  children,
}: {
  readonly legend: string;
  readonly children: ComponentChildren;
}) {
  return (
    <fieldset>
      <legend>{legend}</legend>
      {children}
    </fieldset>
  );
}

/** A text filter that is applied when the reader stops typing. */
export function SearchField({ label, value, onValue, hint, type }: FieldProps & TextType) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onValue(text), 400);
    return () => clearTimeout(timer);
  }, [text]);
  return <TextField label={label} value={text} onValue={setText} hint={hint} type={type} />;
}
