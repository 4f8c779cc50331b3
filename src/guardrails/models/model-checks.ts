/** Builds the checks that a mounted model runs. */
import { plainLabel } from '../../model/guardrails/model-manifest.ts';
import { needsPiiModel } from '../../model/guardrails/pii-categories.ts';
import { CheckError, type CheckOutcome, type CheckRunner, NothingToJudge } from '../check.ts';
import { personalData } from '../detector-checks.ts';
import type { CheckSource } from '../guardrail.ts';
import type { GuardrailModel } from './guardrail-model.ts';
import type { ModelFinding } from './loaded-model.ts';
import { personalDataCheck } from './personal-data-check.ts';

type Parameters = Readonly<Record<string, unknown>>;

const modelId = 'gatewright.model';
const personalDataId = 'portkey.pii';
const defaultTimeoutMs = 5_000;
const defaultThreshold = 0.5;

/** Labels that a check searches for, and how it replaces them. */
interface LabelSearch {
  /** Labels without the marks of tokens, and the name of each in results. */
  readonly names: ReadonlyMap<string, string>;
  readonly threshold: number;
  readonly timeoutMs: number;
  readonly redacts: boolean;
  /** Whether the check passes where a label is found. */
  readonly isNot: boolean;
}

export class ModelChecks implements CheckSource {
  readonly #model: GuardrailModel | null;

  /** Null where no model is mounted. */
  constructor(model: GuardrailModel | null) {
    this.#model = model;
  }

  runnerOf(id: string, parameters: Parameters): CheckRunner | undefined {
    const model = this.#model;
    if (id === modelId && model === null) return rejectWithoutModel;
    if (model === null) return undefined;
    const search = searchOf(id, parameters, model);
    if (search === null) return undefined;
    const known = new Set(model.manifest.labels.map(plainLabel));
    if (![...search.names.keys()].every((label) => known.has(label))) return rejectLabels;
    const detected = detectedCategories(id, parameters);
    if (detected.length === 0) return labelCheck(model, search);
    return personalDataCheck({
      detectors: personalData({ ...parameters, categories: detected }),
      model: labelCheck(model, search),
      isRedacting: search.redacts,
      isNot: search.isNot,
    });
  }

  changesTexts(id: string, parameters: Parameters): boolean {
    const isOwn = id === modelId || id === personalDataId;
    return this.#model !== null && isOwn && parameters.redact === true;
  }
}

const rejectWithoutModel: CheckRunner = () => {
  throw new CheckError('no model is mounted: set GATEWRIGHT_GUARDRAIL_MODEL_DIR');
};

const rejectLabels: CheckRunner = () => {
  throw new CheckError('the model has not all of these labels');
};

/** Null for a check that the model does not run. */
function searchOf(
  id: string,
  parameters: Parameters,
  { manifest }: GuardrailModel,
): LabelSearch | null {
  const { labels, threshold, timeout, redact, not } = parameters;
  const common = {
    threshold: typeof threshold === 'number' ? threshold : defaultThreshold,
    timeoutMs: typeof timeout === 'number' ? timeout : defaultTimeoutMs,
    redacts: redact === true && manifest.task === 'token-classification',
    isNot: not === true,
  };
  if (id === modelId) {
    const listed = Array.isArray(labels) ? (labels as string[]) : manifest.flagged;
    return { ...common, names: new Map(listed.map((one) => [plainLabel(one), plainLabel(one)])) };
  }
  if (id !== personalDataId) return null;
  const entities: Readonly<Record<string, readonly string[] | undefined>> = manifest.entities ?? {};
  const modelled = categoriesIn(parameters).filter(
    (category) =>
      needsPiiModel(category) || (parameters.model === true && Object.hasOwn(entities, category)),
  );
  if (modelled.length === 0) return null;
  // Without the entity, the detectors say that they cannot find it.
  if (!modelled.every((category) => Object.hasOwn(entities, category))) return null;
  const names = modelled.flatMap((category) =>
    (entities[category] ?? []).map((label) => [plainLabel(label), category] as const),
  );
  return { ...common, names: new Map(names) };
}

function categoriesIn({ categories }: Parameters): string[] {
  const list: readonly unknown[] = Array.isArray(categories) ? categories : [];
  return list.filter((category) => typeof category === 'string');
}

/** Categories that detectors find, also where the model finds them too. */
function detectedCategories(id: string, parameters: Parameters): string[] {
  if (id !== personalDataId) return [];
  return categoriesIn(parameters).filter((category) => !needsPiiModel(category));
}

function labelCheck(model: GuardrailModel, search: LabelSearch): CheckRunner {
  return async ({ passages }) => {
    const texts = passages.map(({ text }) => text);
    if (texts.every((text) => text.trim() === '')) {
      throw new NothingToJudge('there is no text to check');
    }
    const judged = await model.judge(texts, search.timeoutMs);
    const found = judged.map((findings) =>
      findings.filter(({ label, score }) => search.names.has(label) && score >= search.threshold),
    );
    return outcomeOf(model, search, texts, found);
  };
}

function outcomeOf(
  { manifest: { name } }: GuardrailModel,
  { names, redacts, isNot }: LabelSearch,
  texts: readonly string[],
  found: readonly (readonly ModelFinding[])[],
): CheckOutcome {
  const labels = [...new Set(found.flat().map(({ label }) => names.get(label)!))];
  const isFound = labels.length > 0;
  const data = { model: name, findings: labels };
  const explanation = `the model ${name} finds ${isFound ? labels.join(', ') : 'nothing'}`;
  if (!redacts || !isFound) return { passes: isFound === isNot, explanation, data };
  const replaced = texts.map((text, at) => replaceFound(text, found[at]!, names));
  return { passes: true, explanation, data, texts: replaced };
}

/** The findings of one text are in its order and do not overlap. */
function replaceFound(
  text: string,
  found: readonly ModelFinding[],
  names: LabelSearch['names'],
): string {
  let result = '';
  let end = 0;
  for (const { from, to, label } of found) {
    result += `${text.slice(end, from)}[${names.get(label)}]`;
    end = to;
  }
  return result + text.slice(end);
}
