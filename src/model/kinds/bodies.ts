/** Knows the schemas of the specs of kinds, each made when the first of its kind is met. */
import type { z } from 'zod';
import { HotSchema } from '../wire/hot-schema.ts';
import { type KindName, kinds } from './kinds.ts';

const bodies = new Map<KindName, HotSchema<z.ZodObject>>();

/** What a manifest's spec must parse to: see `makeBody` of the kind. */
export async function loadBody(kind: KindName): Promise<z.ZodObject> {
  return (await loadHotBody(kind)).plain;
}

/** As {@link loadBody}, for whoever asks it about every manifest of a source. */
export async function loadHotBody(kind: KindName): Promise<HotSchema<z.ZodObject>> {
  const known = bodies.get(kind);
  if (known !== undefined) return known;
  const body = new HotSchema(await kinds[kind].makeBody());
  bodies.set(kind, body);
  return body;
}
