/** Checks that usage is the same whether the whole response is parsed or only its usage members. */
import { expect, it } from 'vitest';
import {
  addReportedUsage,
  newReportedUsage,
  parseUsageParts,
} from '../../../../src/model/pricing/reported-usage.ts';

const usage = '"usage":{"prompt_tokens":3,"completion_tokens":4}';

it.each([
  `{${usage}}`,
  ` \n\t{"id":"x","choices":[{"message":{"content":"}{][\\"\\\\"}}], ${usage} , "model" : "m\\u00e9" }`,
  `{"choices":[{${usage}}]}`,
  `{"message":{"model":"m",${usage}}}`,
  `{"response":{"model":"m",${usage}},"usage":null}`,
  `{"usage":{"prompt_tokens":1,"completion_tokens":1},${usage}}`,
  `{"us\\u0061ge":{"input_tokens":5,"output_tokens":6},"model":"ä"}`,
  '{"usage":{"prompt_tokens":-1}}',
  '{"usage":[1],"model":7}',
  '{}',
  `[{${usage}}]`,
  '"{usage}"',
  '0',
])('parses %s like the JSON parser', (text) => {
  const [all, parts] = [newReportedUsage(), newReportedUsage()];
  addReportedUsage(all, JSON.parse(text));
  addReportedUsage(parts, parseUsageParts(Buffer.from(text)));
  expect(parts).toEqual(all);
});

it.each([`{${usage}`, `{${usage},"choices":["`, '{', '{"usage":', `{${usage},"a"`, `{${usage},`])(
  'throws for incomplete JSON: %s',
  (text) => {
    expect(() => parseUsageParts(Buffer.from(text))).toThrow();
  },
);

it.each(['', ' ', 'usage', `a{${usage}}`])(
  'returns null for text that is no object: "%s"',
  (text) => {
    expect(parseUsageParts(Buffer.from(text))).toBeNull();
  },
);
