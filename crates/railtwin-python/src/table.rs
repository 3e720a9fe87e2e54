//! Tables for Python: Arrow columns that take over the Rust vectors, shared and never copied.
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, DictionaryArray, PrimitiveArray, RecordBatch, RecordBatchIterator,
    RecordBatchOptions, StringArray,
};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use railtwin_records::ColumnData;

use crate::errors;

/// A table of a run: columns of numbers, and of text by code.
///
/// It speaks the Arrow C data interface, so polars, pyarrow, pandas, DuckDB and others read it without a copy.
#[pyclass(frozen, module = "railtwin")]
pub struct Table {
    name: String,
    batch: RecordBatch,
}

impl Table {
    /// Takes the columns over.
    pub(crate) fn of(table: railtwin_records::Table) -> Result<Self, ArrowError> {
        let rows = table.rows();
        let mut fields = Vec::new();
        let mut arrays = Vec::new();
        for column in table.columns {
            let array = array_of(column.data)?;
            fields.push(Field::new(column.name, array.data_type().clone(), false));
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)?;
        Ok(Self { name: table.name, batch })
    }
}

fn array_of(data: ColumnData) -> Result<ArrayRef, ArrowError> {
    Ok(match data {
        ColumnData::U64(values) => Arc::new(PrimitiveArray::<UInt64Type>::new(values.into(), None)),
        ColumnData::U32(values) => Arc::new(PrimitiveArray::<UInt32Type>::new(values.into(), None)),
        ColumnData::F64(values) => Arc::new(PrimitiveArray::<Float64Type>::new(values.into(), None)),
        ColumnData::Text { dictionary, codes } => {
            // The same bytes under a signed type, as pandas takes no unsigned codes; that a code fits is
            // checked with its dictionary.
            let rows = codes.len();
            let codes = ScalarBuffer::<i32>::new(Buffer::from_vec(codes), 0, rows);
            let keys = PrimitiveArray::<Int32Type>::new(codes, None);
            Arc::new(DictionaryArray::try_new(keys, Arc::new(StringArray::from(dictionary)))?)
        }
        other => return Err(ArrowError::NotYetImplemented(format!("a column of {} values", other.len()))),
    })
}

#[pymethods]
impl Table {
    /// Name of the table, such as ``steps``.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Names of the columns in their order; a unit stands last, as in ``start_ps``.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("Table({:?}, {} rows: {})", self.name, self.batch.num_rows(), self.columns().join(", "))
    }

    /// The columns as lists, for those who have no Arrow library at hand; this copies.
    ///
    /// >>> import railtwin as rt
    /// >>> run = rt.run({"schema": 1, "name": "two", "fabric": {"preset": "fat-tree", "k": 4},
    /// ...     "job": [{"gpus": 2, "collective": {"kind": "all-reduce", "bytes": "1 GB"}}]})
    /// >>> run.table("steps").to_dict()["step"]
    /// [0]
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for (name, array) in self.columns().iter().zip(self.batch.columns()) {
            columns.set_item(name, list_of(py, array)?)?;
        }
        Ok(columns)
    }

    /// The table as a polars ``DataFrame``.
    ///
    /// >>> import railtwin as rt
    /// >>> run = rt.run({"schema": 1, "name": "two", "fabric": {"preset": "fat-tree", "k": 4},
    /// ...     "job": [{"gpus": 2, "collective": {"kind": "all-reduce", "bytes": "1 GB"}}]})
    /// >>> run.table("steps").to_polars().shape
    /// (1, 5)
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        package(slf.py(), "polars")?.getattr("DataFrame")?.call1((slf,))
    }

    /// The table as a pyarrow ``Table``.
    ///
    /// >>> import railtwin as rt
    /// >>> run = rt.run({"schema": 1, "name": "two", "fabric": {"preset": "fat-tree", "k": 4},
    /// ...     "job": [{"gpus": 2, "collective": {"kind": "all-reduce", "bytes": "1 GB"}}]})
    /// >>> run.table("links").to_pyarrow().schema.field("utilization").type
    /// DataType(double)
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        package(slf.py(), "pyarrow")?.call_method1("table", (slf,))
    }

    /// The table as a pandas ``DataFrame``; text columns become categories. pandas reads Arrow by pyarrow.
    ///
    /// >>> import railtwin as rt
    /// >>> run = rt.run({"schema": 1, "name": "two", "fabric": {"preset": "fat-tree", "k": 4},
    /// ...     "job": [{"gpus": 2, "collective": {"kind": "all-reduce", "bytes": "1 GB"}}]})
    /// >>> run.table("operations").to_pandas()["kind"].tolist()
    /// ['all-reduce']
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        package(slf.py(), "pandas")?;
        Self::to_pyarrow(slf)?.call_method0("to_pandas")
    }

    /// The Arrow PyCapsule interface: one batch that shares the memory of this table. A schema may be asked
    /// for, as the interface has it, but the columns come as they are.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The schema by the Arrow PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref());
        let schema = schema.map_err(|error| errors::internal(py, &error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}

/// Imports a package that railtwin does without until it is asked for.
fn package<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|error| {
        let raised = errors::missing(py, name);
        raised.set_cause(py, Some(error));
        raised
    })
}

fn list_of(py: Python<'_>, array: &ArrayRef) -> PyResult<Py<PyAny>> {
    fn numbers<'py, T: ArrowPrimitiveType>(py: Python<'py>, array: &ArrayRef) -> PyResult<Py<PyAny>>
    where
        T::Native: IntoPyObject<'py>,
    {
        array.as_primitive::<T>().values().to_vec().into_py_any(py)
    }
    match array.data_type() {
        DataType::UInt64 => numbers::<UInt64Type>(py, array),
        DataType::UInt32 => numbers::<UInt32Type>(py, array),
        DataType::Float64 => numbers::<Float64Type>(py, array),
        _ => {
            let coded = array.as_dictionary::<Int32Type>();
            let texts = coded.values().as_string::<i32>();
            let texts: Vec<&str> =
                coded.keys().values().iter().map(|&key| texts.value(key as usize)).collect();
            texts.into_py_any(py)
        }
    }
}
