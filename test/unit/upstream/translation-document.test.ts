/** Compares docs/reference/translation.md with the rules of the translations; `-u` writes it. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { chatAnswerToConverseRules } from '../../../src/upstream/converse/chat-answer-rules.ts';
import { chatToConverseRules } from '../../../src/upstream/converse/chat-to-converse-rules.ts';
import { converseAnswerRules } from '../../../src/upstream/converse/converse-answer-rules.ts';
import { converseRequestRules } from '../../../src/upstream/converse/converse-request-rules.ts';
import { chatAnswerToGeminiRules } from '../../../src/upstream/gemini/chat-answer-rules.ts';
import { chatToGeminiRules } from '../../../src/upstream/gemini/chat-to-gemini-rules.ts';
import { geminiAnswerRules } from '../../../src/upstream/gemini/gemini-answer-rules.ts';
import { geminiRequestRules } from '../../../src/upstream/gemini/gemini-request-rules.ts';
import { chatAnswerRules } from '../../../src/upstream/messages/chat-answer-rules.ts';
import { chatRules } from '../../../src/upstream/messages/chat-rules.ts';
import { messageAnswerRules } from '../../../src/upstream/messages/message-answer-rules.ts';
import { messageRules } from '../../../src/upstream/messages/message-rules.ts';
import { chatAnswerToResponsesRules } from '../../../src/upstream/responses/chat-answer-rules.ts';
import { responseRules } from '../../../src/upstream/responses/response-rules.ts';
import { budgetsOfEfforts } from '../../../src/upstream/translation/reasoning-effort.ts';
import { rulesSection } from '../../support/sdk/translation-document.ts';

const path = resolve(import.meta.dirname, '../../../docs/reference/translation.md');
const mark = '\n<!-- The tables below are generated: npm test -- test/unit/upstream -u -->\n';

it('lists every rule of the code in docs/reference/translation.md', async () => {
  const [introduction] = readFileSync(path, 'utf8').split(mark);
  const sections = [
    messageRules,
    chatRules,
    chatToGeminiRules,
    chatToConverseRules,
    responseRules,
    geminiRequestRules,
    converseRequestRules,
    messageAnswerRules,
    geminiAnswerRules,
    converseAnswerRules,
    chatAnswerRules,
    chatAnswerToResponsesRules,
    chatAnswerToGeminiRules,
    chatAnswerToConverseRules,
  ].map(rulesSection);
  const document = `${introduction}${mark}\n${sections.join('\n')}`;
  await expect(document).toMatchFileSnapshot(path);
});

it('states the budget of every effort in docs/reference/translation.md', () => {
  const text = readFileSync(path, 'utf8');
  for (const [effort, tokens] of budgetsOfEfforts) {
    expect(text).toContain(`| \`${effort}\` | ${tokens.toLocaleString('en')} |`);
  }
});
