/**
 * The schema of a Grafana dashboard, as far as Tidegate uses it, of `@grafana/schema` 13.2.3 (Apache-2.0). It has the
 * types `Dashboard`, `Panel`, `RowPanel`, `VariableModel` and `FieldConfig`, and the options of three panels. Strict: a
 * member that Grafana does not have is a mistake.
 */
import * as z from 'zod'

const datasource = z.strictObject({ type: z.literal('prometheus'), uid: z.string() })
/** Columns of the grid are 24. */
const gridPos = z.strictObject({
  x: z.int().min(0).max(23),
  y: z.int().min(0),
  w: z.int().min(1).max(24),
  h: z.int().min(1),
})

const mappedValue = z.strictObject({ text: z.string(), color: z.string(), index: z.int() })
const fieldConfig = z.strictObject({
  defaults: z.strictObject({
    /** Ids of `@grafana/data` valueFormats/categories.ts. */
    unit: z.enum(['none', 's', 'bytes', 'ops', 'reqps', 'percentunit', 'dateTimeAsIso']),
    min: z.number().optional(),
    mappings: z
      .array(z.strictObject({ type: z.literal('value'), options: z.record(z.string(), mappedValue) }))
      .optional(),
    thresholds: z
      .strictObject({
        mode: z.enum(['absolute', 'percentage']),
        steps: z.array(z.strictObject({ color: z.string(), value: z.number().nullable() })).min(1),
      })
      .optional(),
  }),
  overrides: z.array(z.never()),
})

const legend = z.strictObject({
  showLegend: z.boolean(),
  displayMode: z.enum(['list', 'table', 'hidden']),
  placement: z.enum(['bottom', 'right']),
  calcs: z.array(z.string()),
})
const timeSeriesOptions = z.strictObject({
  legend,
  tooltip: z.strictObject({
    mode: z.enum(['single', 'multi', 'none']),
    sort: z.enum(['asc', 'desc', 'none']),
  }),
})
const stateTimelineOptions = z.strictObject({ legend, showValue: z.enum(['auto', 'never', 'always']) })
const statOptions = z.strictObject({
  colorMode: z.enum(['value', 'background', 'background_solid', 'none']),
  reduceOptions: z.strictObject({ calcs: z.array(z.enum(['lastNotNull', 'last', 'max', 'mean'])) }),
})

const target = z.strictObject({
  refId: z.string().regex(/^[A-Z]$/),
  expr: z.string(),
  legendFormat: z.string(),
  datasource,
})

const panelOf = <T extends string, O extends z.ZodType>(type: T, options: O) =>
  z.strictObject({
    id: z.int().min(1),
    type: z.literal(type),
    title: z.string().min(1),
    description: z.string().optional(),
    datasource,
    fieldConfig,
    options,
    targets: z.array(target).min(1),
    gridPos,
  })

const row = z.strictObject({
  id: z.int().min(1),
  type: z.literal('row'),
  title: z.string().min(1),
  collapsed: z.boolean(),
  /** Panels of a row that is open stand beside it in the list. */
  panels: z.array(z.never()),
  gridPos,
})

const named = { name: z.string(), label: z.string() }
const choice = z.strictObject({ text: z.string(), value: z.string() })
const variable = z.discriminatedUnion('type', [
  z.strictObject({
    ...named,
    type: z.literal('datasource'),
    query: z.literal('prometheus'),
    current: choice,
  }),
  z.strictObject({
    ...named,
    type: z.literal('query'),
    datasource,
    query: z.strictObject({ query: z.string(), refId: z.string() }),
    includeAll: z.boolean(),
    multi: z.boolean(),
    allValue: z.string(),
    current: choice,
    refresh: z.union([z.literal(0), z.literal(1), z.literal(2)]),
  }),
])

export const grafanaDashboard = z.strictObject({
  uid: z.string().max(40),
  title: z.string(),
  tags: z.array(z.string()),
  editable: z.boolean(),
  schemaVersion: z.int().min(36),
  refresh: z.string(),
  time: z.strictObject({ from: z.string(), to: z.string() }),
  timezone: z.string(),
  templating: z.strictObject({ list: z.array(variable) }),
  panels: z.array(
    z.discriminatedUnion('type', [
      row,
      panelOf('timeseries', timeSeriesOptions),
      panelOf('state-timeline', stateTimelineOptions),
      panelOf('stat', statOptions),
    ]),
  ),
})
