/** Loads the spec schema of a kind when it is first used. */
import type { z } from 'zod';
import { SelfCompilingSchema } from '../wire/self-compiling-schema.ts';
import { type KindName, kinds } from './kinds.ts';

const schemas = new Map<KindName, SelfCompilingSchema<z.ZodObject>>();

/** Returns the schema for the specs of a kind: see `makeBody` of the kind. */
export async function loadSpecSchema(kind: KindName): Promise<z.ZodObject> {
  return (await loadCompilingSpecSchema(kind)).plain;
}

/** Like {@link loadSpecSchema}, for validating every manifest of a source. */
export async function loadCompilingSpecSchema(
  kind: KindName,
): Promise<SelfCompilingSchema<z.ZodObject>> {
  const loaded = schemas.get(kind);
  if (loaded !== undefined) return loaded;
  const schema = new SelfCompilingSchema(await kinds[kind].makeSpecSchema());
  schemas.set(kind, schema);
  return schema;
}
