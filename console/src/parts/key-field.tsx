/** Finds an API key by part of its name, without loading the list of keys. */
import { useEffect, useId, useState } from 'preact/hooks';
import { useReply } from '../api/use-reply.ts';
import { changeQuery } from '../routing/routes.ts';

const pauseMs = 300;
const suggestionsMax = 20;

interface KeyFieldProps {
  /** Id of the chosen key; empty for all keys. */
  readonly value: string;
  /** Name of the chosen key, where the page knows it. */
  readonly chosenName: string | undefined;
}

/** Keeps the id of the key as `key` in the page's query. */
export function KeyField({ value, chosenName }: KeyFieldProps) {
  if (value === '') return <KeySearch />;
  return (
    <div class="field">
      <span>Key</span>
      <button type="button" onClick={() => changeQuery({ key: '' })}>
        {chosenName ?? value} <span aria-hidden="true">×</span>
        <span class="unseen">: show all keys</span>
      </button>
    </div>
  );
}

function KeySearch() {
  const list = useId();
  const [text, setText] = useState('');
  const [name, setName] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setName(text.trim()), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  const { body } = useReply('/v1/api-keys', {
    query: { name, page_size: suggestionsMax },
    isOn: name !== '',
  });
  const keys = (body?.data ?? []).map(({ id, name: own }) => ({ id, text: `${own} (${id})` }));
  const choose = (typed: string): void => {
    const chosen = keys.find((key) => key.text === typed);
    if (chosen === undefined) setText(typed);
    else changeQuery({ key: chosen.id });
  };
  return (
    <label class="field">
      <span>Key</span>
      <input
        list={list}
        value={text}
        placeholder="part of its name"
        autoComplete="off"
        onInput={({ currentTarget }) => choose(currentTarget.value)}
      />
      <datalist id={list}>
        {keys.map((key) => (
          <option key={key.id} value={key.text} />
        ))}
      </datalist>
    </label>
  );
}
