/** Knows what graphs and charts tell of feedback (docs/reference/analytics.md, Graphs and groups). */
import { formatTimestamp } from '../../../model/wire/timestamp.ts';
import type { FeedbackSums } from '../../../store/logs/feedback-sums.ts';
import { pieces, type Questions } from './request-question.ts';

/** Of values by weight; null of none, and of what has no weight. */
function averageOf({ weighted_units, weight_units }: FeedbackSums): number | null {
  return weight_units === 0 ? null : weighted_units / weight_units;
}

const nothing: FeedbackSums = { given: 0, weighted_units: 0, weight_units: 0, shared: [] };

/** All of the stretch, and each piece of it. */
async function along(questions: Questions) {
  const [whole = nothing] = await questions.askFeedback([]);
  const sums = await questions.askFeedback([{ stepMs: questions.stepMs }]);
  const found = new Map(sums.map((one) => [Number(one.shared[0]), one]));
  const points = pieces(questions, found).map(({ at, sums: of = nothing }) => {
    return { at: formatTimestamp(at), given: of.given, average: averageOf(of) };
  });
  return { given: whole.given, average: averageOf(whole), points };
}

async function scores(questions: Questions): Promise<{ score: number; given: number }[]> {
  const sums = await questions.askFeedback([], true);
  return sums.map(({ shared, given }) => ({ score: Number(shared[0]), given }));
}

async function models(questions: Questions) {
  const sums = await questions.askFeedback(['model']);
  return sums.map((one) => {
    return { model: String(one.shared[0] ?? ''), given: one.given, average: averageOf(one) };
  });
}

const totalOf = (some: readonly { readonly given: number }[]): number =>
  some.reduce((sum, { given }) => sum + given, 0);

type Drawn = Promise<{
  readonly summary: Record<string, number | null>;
  readonly data_points: Record<string, unknown>[];
}>;

const scoreGraph = async (questions: Questions): Drawn => {
  const told = await scores(questions);
  const data_points = told.map(({ score, given }) => ({ score, total: given }));
  return { summary: { total: totalOf(told) }, data_points };
};

/** Graphs of v1, by their names. */
export const feedbackGraphs: Readonly<Record<string, (questions: Questions) => Drawn>> = {
  feedbacks: async (questions) => {
    const { given, points } = await along(questions);
    const data_points = points.map(({ at, given: total }) => ({ timestamp: at, total }));
    return { summary: { total: given }, data_points };
  },
  'feedbacks-weighted': async (questions) => {
    const { given, average, points } = await along(questions);
    const data_points = points.map(({ at, average: avg }) => ({ timestamp: at, avg }));
    return { summary: { avg: average, total: given }, data_points };
  },
  'feedbacks-ai-models': async (questions) => {
    const told = await models(questions);
    const data_points = told.map(({ model, given, average }) => {
      return { ai_model: model, total: given, avg: average };
    });
    return { summary: { total: totalOf(told) }, data_points };
  },
  ...{ 'feedbacks-score': scoreGraph, 'feedbacks-scores': scoreGraph },
};

type Told = Promise<Record<string, unknown>>;

/** Charts of v2, by their names. */
export const feedbackCharts: Readonly<Record<string, (questions: Questions) => Told>> = {
  'feedback-trend': async (questions) => {
    const { given, points } = await along(questions);
    return { records: points.map(({ at, given: y }) => ({ x: at, y })), total: given };
  },
  /** A piece without feedback has none, so it is left out. */
  'feedback-weighted': async (questions) => {
    const { average, points } = await along(questions);
    const some = points.filter((point) => point.average !== null);
    return { records: some.map(({ at, average: y }) => ({ x: at, y })), total: average ?? 0 };
  },
  'feedback-score-distribution': async (questions) => {
    const told = await scores(questions);
    const records = told.map(({ score, given }) => ({ x: score, y: given }));
    return { records, total: totalOf(told) };
  },
  'feedback-models': async (questions) => {
    const records = (await models(questions)).map(({ model, given, average }) => ({
      ...{ x: model, y: { avgWeightedFeedback: average ?? 0, feedbackCount: given } },
    }));
    return { records };
  },
};
