/** Defines the manifest of a model that an operator mounts for guardrails. */
import { z } from 'zod';

const fileName = z
  .string()
  .max(255)
  .regex(/^[A-Za-z0-9_-][\w.-]*$/, 'must be a name without a folder');
const label = z.string().min(1).max(100);

/** Content of `manifest.json`. */
export const ModelManifest = z
  .strictObject({
    /** Name in results. */
    name: label,
    task: z.enum(['text-classification', 'token-classification']),
    /** Digest of each file: SHA-256 in hexadecimal digits. */
    files: z.record(
      fileName,
      z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in 64 hexadecimal digits'),
    ),
    /** File of the model, in the format of ONNX. */
    model: fileName,
    /** File of the tokenizer, in the format of Hugging Face. */
    tokenizer: fileName,
    /** In the order of the outputs of the model. */
    labels: z.array(label).min(2).max(1_000),
    /** Labels for which `gatewright.model` fails, unless the check names others. */
    flagged: z.array(label).min(1),
    /** Tokens of one input, with those at its start and end. */
    max_tokens: z.int().min(8).max(8_192),
    /** Labels of each category of `portkey.pii` that the model finds. */
    entities: z
      .partialRecord(z.enum(['NAME', 'LOCATION_ADDRESS']), z.array(label).min(1))
      .optional(),
  })
  .superRefine((manifest, context) => {
    for (const member of ['model', 'tokenizer'] as const) {
      if (Object.hasOwn(manifest.files, manifest[member])) continue;
      const message = 'must be one of the files, with its digest';
      context.addIssue({ code: 'custom', path: [member], message });
    }
    const known = new Set(manifest.labels.map(plainLabel));
    const entities = Object.values(manifest.entities ?? {}).flat();
    for (const [path, names] of [
      ['flagged', manifest.flagged],
      ['entities', entities],
    ] as const) {
      if (names.every((name) => known.has(plainLabel(name)))) continue;
      context.addIssue({ code: 'custom', path: [path], message: 'must name labels' });
    }
    if (manifest.task === 'text-classification' && entities.length > 0) {
      const message = 'needs the task token-classification';
      context.addIssue({ code: 'custom', path: ['entities'], message });
    }
  });
export type ModelManifest = z.infer<typeof ModelManifest>;

/** The label without the mark of its first or a further token: `B-PER` and `I-PER` are `PER`. */
export function plainLabel(name: string): string {
  return name.replace(/^[BIES]-/, '');
}
