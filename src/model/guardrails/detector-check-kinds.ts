/** Catalogue of the checks whose detectors this program contains, and the rules for their parameters. */
import { z } from 'zod';
import { didYouMean } from '../../suggest.ts';
import { type Fault, faultAt } from '../wire/fault.ts';
import { type CheckKind, checkParametersOf } from './check-kind.ts';
import { languageLabels, unknownLanguages } from './languages.ts';
import { needsPiiModel, piiCategories } from './pii-categories.ts';
import { secretRuleIds } from './secret-rule-ids.ts';

const not = z.boolean().optional();
const redact = z.boolean().optional();
const strings = z.array(z.string()).min(1);
const categories = z.array(z.enum(piiCategories)).min(1);
/** Parameters of a mounted model that finds the categories. */
const modelled = {
  model: z.boolean().optional(),
  threshold: z.number().min(0).max(1).optional(),
  timeout: z.number().positive().max(60_000).optional(),
};
/** Detectors give the same verdict for the same text. */
const tools = true;

/** By id, in the spelling of clients. */
export const detectorCheckKinds: Readonly<Record<string, CheckKind>> = {
  'portkey.pii': {
    name: 'Personal data',
    about: 'The text contains no personal data.',
    parameters: checkParametersOf({ categories, redact, not, ...modelled }),
    tools,
    faults: piiFaults,
  },
  'gatewright.pii': {
    name: 'Personal data, all categories',
    about: 'The text contains no personal data of the categories, by default of all.',
    parameters: checkParametersOf({ categories: categories.optional(), redact, not }),
    tools,
    faults: piiFaults,
  },
  'gatewright.secrets': {
    name: 'Secrets',
    about: 'The text contains no keys, tokens or other secrets.',
    parameters: checkParametersOf({
      redact,
      exclude: strings.optional(),
      generic: z.boolean().optional(),
    }),
    tools,
    faults: secretFaults,
  },
  'gatewright.profanity': {
    name: 'Profanity',
    about: 'The text contains no profanity in English.',
    parameters: checkParametersOf({ redact, not }),
    tools,
    faults: inversionFaults,
  },
  'gatewright.injection': {
    name: 'Prompt injection',
    about: 'The text does not try to replace the instructions of the model.',
    parameters: checkParametersOf({ failOnDetection: z.boolean().optional() }),
    tools,
  },
  'portkey.language': {
    name: 'Language',
    about: 'The text is in one of the languages.',
    parameters: checkParametersOf({ language: z.union([z.string().min(1), strings]), not }),
    tools,
    faults: languageFaults,
  },
  'portkey.gibberish': {
    name: 'Gibberish',
    about: 'The text makes sense.',
    parameters: checkParametersOf({ not }),
    tools,
  },
};

type Parameters = Readonly<Record<string, unknown>>;

function piiFaults({ categories: names = [], model, ...values }: Parameters): Fault[] {
  const faults = (names as readonly string[]).flatMap((name, at) =>
    needsPiiModel(name) && model !== true
      ? [{ path: ['categories', at], message: modelMessage(name) }]
      : [],
  );
  return [...faults, ...inversionFaults(values)];
}

function inversionFaults({ redact: redacts, not: isInverted }: Parameters): Fault[] {
  return faultAt('not', redacts === true && isInverted === true ? redactsMessage : null);
}

function secretFaults({ exclude = [] }: Parameters): Fault[] {
  return (exclude as readonly string[]).flatMap((id, at) => {
    if (secretRuleIds.includes(id)) return [];
    const hint = didYouMean(id, secretRuleIds) ?? 'docs/reference/detectors.md, Secrets, has them';
    return [{ path: ['exclude', at], message: `is not a rule for secrets; ${hint}` }];
  });
}

function languageFaults({ language }: Parameters): Fault[] {
  const isList = Array.isArray(language);
  return [language].flat().flatMap((code, at) => {
    const message = languageMessage(String(code));
    return message === null ? [] : [{ path: isList ? ['language', at] : ['language'], message }];
  });
}

function languageMessage(code: string): string | null {
  if (Object.hasOwn(languageLabels, code)) return null;
  if (unknownLanguages.includes(code)) return 'is a language that this gateway cannot recognise';
  const hint = didYouMean(code, Object.keys(languageLabels));
  return `is not the code of a language; ${hint ?? 'docs/reference/detectors.md, Language, has them'}`;
}

function modelMessage(category: string): string {
  return (
    `${category} needs a model: remove the category, or use portkey.pii with model: true, where ` +
    'GATEWRIGHT_GUARDRAIL_MODEL_DIR names a model that finds it'
  );
}

const redactsMessage =
  'cannot be used with redact, which replaces what it finds; remove one of them';
