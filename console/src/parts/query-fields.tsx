/** Fields whose values are members of the page's query, so that an address keeps what a page shows. */
import { useEffect, useState } from 'preact/hooks';
import { changeQuery, pathOf, queryOf } from '../routing/routes.ts';
import { ChoiceField } from './fields.tsx';

interface QueryFieldProps {
  readonly label: string;
  /** Member of the page's query. */
  readonly name: string;
  readonly hint?: string;
}

/** Changes the query when the text is complete: on Enter, or when the field is left. */
export function QueryText({ label, name, hint }: QueryFieldProps) {
  const stored = queryOf().get(name) ?? '';
  const [text, setText] = useState(stored);
  useEffect(() => setText(stored), [stored]);
  return (
    <label class="field">
      <span>{label}</span>
      <input
        value={text}
        placeholder={hint}
        autoComplete="off"
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onChange={({ currentTarget }) => changeQuery({ [name]: currentTarget.value.trim() })}
      />
    </label>
  );
}

/** A value of the address that is not among the choices is offered as it is. */
export function QueryChoice({
  label,
  name,
  choices,
}: QueryFieldProps & { readonly choices: readonly (readonly [string, string])[] }) {
  const value = queryOf().get(name) ?? '';
  const isListed = choices.some(([choice]) => choice === value);
  return (
    <ChoiceField
      label={label}
      value={value}
      onValue={(chosen) => changeQuery({ [name]: chosen })}
      choices={isListed ? choices : [...choices, [value, value]]}
    />
  );
}

/** Opens a page of a list whose number is a member of the page's query; the first one needs no member. */
export function openPage(page: number): void {
  changeQuery({ page: page === 0 ? '' : String(page) });
}

/** Address of this page with one member of its query changed. */
export function addressWith(name: string, value: string): string {
  const query = new URLSearchParams(queryOf());
  query.set(name, value);
  return `#${pathOf()}?${query}`;
}
