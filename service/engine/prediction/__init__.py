"""Mean and covariance of a new model's scores, full scores predicted from them, and their intervals.

May import `service.engine.numerics` and `service.engine.data`; knows no selection method.
"""
