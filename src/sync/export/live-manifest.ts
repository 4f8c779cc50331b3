/** Writes one live resource as a manifest with all of its fields, whoever owns it. */
import { apiVersion } from '../manifest/document-owner.ts';
import type { LiveResource, LiveSet } from '../resources/resource-set.ts';
import type { PlainObject } from '../resources/spec-paths.ts';
import { ExportNames } from './export-names.ts';
import { SpecWriter } from './export-spec.ts';

/** References become names; values that no server returns become `valueFrom`. */
export function liveManifest(live: LiveSet, resource: LiveResource): PlainObject {
  const names = new ExportNames(live, resource.owner ?? '');
  const identity = names.nameOf(resource);
  const { kind, workspace, name } = identity;
  return {
    apiVersion,
    kind,
    metadata: workspace === null ? { name } : { name, workspace },
    spec: new SpecWriter(names, identity, []).write(resource, false),
  };
}
