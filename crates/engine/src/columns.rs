//! Tables of a result: columns of JSON, which Python reads without a library for tables.

use serde_json::Value;

/// Rows as one array per column, by name.
pub fn columns<const N: usize>(names: [&str; N], rows: impl IntoIterator<Item = [Value; N]>) -> Value {
    let mut columns: [Vec<Value>; N] = std::array::from_fn(|_| Vec::new());
    for row in rows {
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(value);
        }
    }
    names.into_iter().zip(columns).map(|(name, column)| (name.to_string(), Value::Array(column))).collect()
}
