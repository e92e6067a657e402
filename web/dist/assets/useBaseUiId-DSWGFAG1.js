//# allFunctionsCalledOnLoad
import{ut as e}from"./inertValue-CuqXMEk7.js";function t(t){return e(t,`base-ui`)}export{t};