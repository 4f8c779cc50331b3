/** Has a guardrail judge a text, and shows verdict and duration of each check. Nothing is stored. */
import { useState } from 'preact/hooks';
import { addressOf, change, type RequestFailed } from '../../api/client.ts';
import { ChoiceField, LongTextField } from '../../parts/fields.tsx';
import { Facts, Problem, Section } from '../../parts/page.tsx';
import { Table } from '../../parts/table.tsx';
import { NamedState } from '../../parts/text.tsx';

interface TrialResult {
  readonly verdict: 'passed' | 'changed' | 'failed' | 'denied';
  readonly text: string;
  readonly checks: readonly {
    readonly id: string;
    readonly verdict: string;
    readonly duration_ms: number;
    readonly explanation: string;
  }[];
}

const sides = [
  ['input', 'a request'],
  ['output', 'a response'],
] as const;

export function GuardrailTrial({ id }: { readonly id: string }) {
  const [text, setText] = useState('');
  const [side, setSide] = useState('input');
  const [result, setResult] = useState<TrialResult | null>(null);
  const [error, setError] = useState<RequestFailed | null>(null);
  const [isRunning, setRunning] = useState(false);
  const judge = async (): Promise<void> => {
    setRunning(true);
    setError(null);
    setResult(null);
    const address = addressOf('/v1/guardrails/{id}/test', {}, { id });
    try {
      setResult(await change<TrialResult>('POST', address, { text, side }));
    } catch (failed) {
      setError(failed as RequestFailed);
    } finally {
      setRunning(false);
    }
  };
  return (
    <Section
      title="Try it"
      about="Judges a text by each check. Checks that call services are skipped; nothing is stored or charged."
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void judge();
        }}
      >
        <LongTextField label="Text" value={text} onValue={setText} hint="Paste a text" />
        <ChoiceField label="The text is that of" value={side} onValue={setSide} choices={sides} />
        <button type="submit" disabled={text === '' || isRunning}>
          Judge the text
        </button>
      </form>
      {error !== null && <Problem error={error} onRetry={() => void judge()} />}
      <div aria-live="polite">{result !== null && <Result result={result} />}</div>
    </Section>
  );
}

function Result({ result: { verdict, text, checks } }: { readonly result: TrialResult }) {
  const facts: [string, preact.ComponentChildren][] = [
    ['Verdict', <NamedState key="verdict" name={verdict} />],
  ];
  if (verdict === 'changed') facts.push(['The text as it is sent', <code key="text">{text}</code>]);
  return (
    <>
      <Facts facts={facts} />
      <Table
        caption="What each check made of the text"
        rows={checks.map((check, index) => ({ check, index }))}
        keyOf={({ index }) => String(index)}
        empty="No check is enabled."
        columns={[
          { name: 'Check', cell: ({ check }) => check.id },
          { name: 'Verdict', cell: ({ check }) => <NamedState name={check.verdict} /> },
          { name: 'ms', isNumber: true, cell: ({ check }) => String(check.duration_ms) },
          { name: 'Explanation', cell: ({ check }) => check.explanation },
        ]}
      />
    </>
  );
}
