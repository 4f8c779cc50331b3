/** Catalogue of the checks of tool calls, declared tools and parameters, and images, with rules for their parameters. */
import { z } from 'zod';
import { parseJsonPath } from '../json/json-path.ts';
import type { PatternChecker } from '../patterns/pattern-checker.ts';
import { type Fault, faultAt, prefixFaults } from '../wire/fault.ts';
import { type CheckKind, checkParametersOf } from './check-kind.ts';

const names = z.array(z.string().min(1).max(256)).max(200);
const patterns = z.array(z.string().min(1)).min(1).max(50);
const values = z.array(z.union([z.string(), z.number(), z.boolean(), z.null()])).max(200);

const ToolRule = z.strictObject({
  tools: names.min(1).optional(),
  path: z.string().min(1).max(512),
  allow: patterns.optional(),
  deny: patterns.optional(),
  required: z.boolean().optional(),
});

/** By id, in the spelling of clients. */
export const callCheckKinds: Readonly<Record<string, CheckKind>> = {
  'gatewright.toolArguments': {
    name: 'Tool arguments',
    about: 'Calls of tools fulfil rules on the tool and on its arguments.',
    parameters: checkParametersOf({
      allowedTools: names.min(1).optional(),
      blockedTools: names.optional(),
      rules: z.array(ToolRule).max(50).optional(),
    }),
    tools: true,
  },
  'default.requestParametersCheck': {
    name: 'Request parameters',
    about: 'The declared tools and the parameters of the request are allowed.',
    parameters: checkParametersOf({
      tools: z
        .strictObject({
          allowedTypes: names.optional(),
          blockedTypes: names.optional(),
          allowedFunctionNames: names.optional(),
          blockedFunctionNames: names.optional(),
        })
        .optional(),
      params: z
        .strictObject({
          allowedKeys: names.optional(),
          blockedKeys: names.optional(),
          values: z
            .record(
              z.string(),
              z.strictObject({
                allowedValues: values.optional(),
                blockedValues: values.optional(),
              }),
            )
            .optional(),
        })
        .optional(),
    }),
    tools: false,
  },
  'default.inlineImageUrls': {
    name: 'Inline image URLs',
    about: 'Addresses of images are replaced by the images.',
    parameters: checkParametersOf({
      providers: names.optional(),
      maxSizeBytes: z
        .int()
        .min(1)
        .max(20 * 1024 * 1024)
        .optional(),
      timeoutMs: z.int().min(1).max(60_000).optional(),
    }),
    tools: false,
  },
};

type Parameters = Readonly<Record<string, unknown>>;

/** Rules for the values of parameters, by id in lower case. Paths start at the parameters. */
export const callCheckFaults: Readonly<
  Record<string, (values: Parameters, judges: { readonly patterns: PatternChecker }) => Fault[]>
> = {
  'gatewright.toolarguments': ({ rules = [] }, judges) =>
    (rules as readonly z.infer<typeof ToolRule>[]).flatMap((rule, at) =>
      prefixFaults(['rules', at], ruleFaults(rule, judges.patterns)),
    ),
};

const pathMessage =
  "must be a path such as $.files[*].path, $..command or $['a b'], without filters and slices";

function ruleFaults(
  { path, allow = [], deny = [] }: z.infer<typeof ToolRule>,
  checker: PatternChecker,
): Fault[] {
  const inList = (name: string, list: readonly string[]): Fault[] =>
    list.flatMap((pattern, at) => {
      const message = checker.regexFault(pattern);
      return message === null ? [] : [{ path: [name, at], message }];
    });
  return [
    ...faultAt('path', parseJsonPath(path) === null ? pathMessage : null),
    ...inList('allow', allow),
    ...inList('deny', deny),
  ];
}
