/** Knows how whoever sits at the terminal is asked whether a plan is to be carried out. */
import { createInterface } from 'node:readline/promises';
import { Failure } from '../../failure.ts';
import type { Impacts } from '../../sync/plan/impact.ts';
import type { Plan } from '../../sync/plan/planned.ts';
import { textParts } from '../../sync/report/text.ts';
import type { CommandIo } from '../shared/command.ts';

/** @throws Failure (invalid input) where nobody can be asked and nobody has said yes before */
export function assertAskable(command: string, yes: boolean, io: CommandIo): void {
  if (yes || io.stdin.isTTY === true) return;
  const message = `${command} asks before it writes, and there is no terminal to ask at; add --yes, or use plan`;
  throw new Failure('invalidInput', message);
}

/** Shows the plan with what it reaches, and asks, `question` being like `Apply this?`. */
export async function confirm(
  plan: Plan,
  impacts: Impacts,
  question: string,
  io: CommandIo,
): Promise<boolean> {
  const shown = { plan, impacts, report: null, declined: false, warnings: [], refusal: null };
  io.stderr.writeParts(textParts(shown));
  io.stderr.write(`${question} Only "yes" is taken for an answer: `);
  // The terminal itself shows and mends what is typed, and makes a signal of Ctrl-C.
  const terminal = createInterface({ input: io.stdin });
  try {
    const answer = await terminal.question('', { signal: io.signal });
    return answer.trim() === 'yes';
  } finally {
    terminal.close();
  }
}
