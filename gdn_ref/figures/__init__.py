"""The chapters' figures: functions that return a matplotlib Figure or an ipywidgets widget."""
